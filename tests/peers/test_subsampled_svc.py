import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from eigenbench.peers.subsampled_svc import SubsampledSVC


def test_with_room_for_all_rows_it_is_the_machine_of_scikit_learn():
    X, y = load_digits(return_X_y=True)
    theirs = SVC(C=3.0, gamma=1e-3).fit(X[:900], y[:900]).predict(X[900:])
    np.testing.assert_array_equal(
        SubsampledSVC(C=3.0, gamma=1e-3).fit(X[:900], y[:900]).predict(X[900:]), theirs
    )


def test_a_subsample_is_that_of_the_seed_and_of_its_size():
    X, y = load_digits(return_X_y=True)
    first, again, other = (SubsampledSVC(max_rows=200, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.model_.support_vectors_, again.model_.support_vectors_)
    assert first.model_.shape_fit_ == (200, 64)
    assert not np.array_equal(first.model_.support_vectors_, other.model_.support_vectors_)
