import numpy as np
from sklearn.svm import SVC

from eigenbench.methods.peers.subsampled_svc import SubsampledSVC


def test_with_room_for_all_rows_it_is_the_machine_of_scikit_learn(all_digits):
    X, y = all_digits
    ours, theirs = (
        kind(C=3.0, gamma=0.2).fit(X[:900], y[:900]).predict(X[900:]) for kind in (SubsampledSVC, SVC)
    )
    np.testing.assert_array_equal(ours, theirs)


def test_a_subsample_is_that_of_the_seed_and_of_its_size(all_digits):
    X, y = all_digits
    first, again, other = (SubsampledSVC(max_rows=200, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.model_.support_vectors_, again.model_.support_vectors_)
    assert first.model_.shape_fit_ == (200, 64)
    assert not np.array_equal(first.model_.support_vectors_, other.model_.support_vectors_)


def test_class_weights_multiply_those_of_rows_and_rows_without_weight_are_not_drawn(all_digits):
    X, y = all_digits
    w = (np.arange(len(y)) % 2).astype(float)
    found = SubsampledSVC(max_rows=300, class_weight={3: 5.0}, random_state=0).fit(X, y, w)
    expected = SubsampledSVC(max_rows=300, random_state=0).fit(X, y, w * np.where(y == 3, 5.0, 1.0))
    np.testing.assert_array_equal(found.model_.dual_coef_, expected.model_.dual_coef_)
    without = {row.tobytes() for row in X[w == 0]} - {row.tobytes() for row in X[w == 1]}
    assert without.isdisjoint(row.tobytes() for row in found.model_.support_vectors_)
