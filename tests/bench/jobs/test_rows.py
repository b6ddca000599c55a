from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from eigenbench.bench.jobs.job_spec import JobSpec, Validation, search_rows
from eigenbench.datasets.splits import holdout_split


@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=80),
    fraction=st.floats(0.05, 0.95),
    seed=st.integers(0, 2**31),
)
def test_split_is_a_partition_that_leaves_every_class_to_fit_on(labels, fraction, seed):
    y = np.array(labels)
    fit_rows, validation_rows = holdout_split(y, fraction, seed)
    assert sorted([*fit_rows, *validation_rows]) == list(range(len(y)))
    assert set(y[fit_rows]) == set(y)
    for label in set(labels):
        size = labels.count(label)
        assert abs(np.count_nonzero(y[validation_rows] == label) - min(fraction * size, size - 1)) <= 1


def test_split_depends_on_the_seed_alone():
    y = np.repeat([0, 1], 50)
    np.testing.assert_array_equal(holdout_split(y, 0.2, 3)[1], holdout_split(y, 0.2, 3)[1])
    assert not np.array_equal(holdout_split(y, 0.2, 3)[1], holdout_split(y, 0.2, 4)[1])


def test_indicator_matrices_are_split_by_rows():
    Y = sparse.random(40, 6, density=0.3, format="csr", random_state=0)
    fit_rows, validation_rows = holdout_split(Y, 0.25, 0)
    assert len(validation_rows) == 10
    assert len(fit_rows) == 30


@pytest.mark.parametrize("n_groups", [2, 20])
def test_rows_of_a_group_are_held_out_together(n_groups):
    y = np.arange(120) % 3
    groups = np.random.default_rng(0).integers(0, n_groups, 120)
    fit_rows, validation_rows = holdout_split(y, 0.25, 0, groups)
    assert sorted([*fit_rows, *validation_rows]) == list(range(120))
    assert not set(groups[fit_rows]) & set(groups[validation_rows])
    assert 0 < len(validation_rows) < 70
    with pytest.raises(ValueError, match="one group"):
        holdout_split(y, 0.25, 0, np.zeros(120))


def test_of_classes_that_are_too_small_to_give_a_row_the_largest_does():
    y = np.array([0, 0, 1, 1, 1, 2])
    for seed in range(5):
        fit_rows, validation_rows = holdout_split(y, 0.1, seed)
        assert len(validation_rows) == 1
        assert y[validation_rows] == 1
        assert sorted([*fit_rows, *validation_rows]) == list(range(6))
    with pytest.raises(ValueError, match="no class has two training rows"):
        search_rows(np.arange(5), 0.25, 0)


@pytest.fixture
def dataset():
    """Rows that name themselves: training rows 0 … 59, test rows 60 … 79."""
    X, y = np.arange(80).reshape(-1, 1), np.arange(80) % 3
    return SimpleNamespace(X_train=X[:60], y_train=y[:60], X_test=X[60:], y_test=y[60:], train_groups=None)


def test_the_parts_of_a_search_are_the_training_rows_and_no_test_row(dataset):
    validation = Validation(fraction=0.2, metric="error", higher_is_better=False)
    spec = JobSpec(dataset="made", validation=validation)
    parts = {name: spec.rows(dataset, name, 5) for name in ("fit", "validation")}
    numbers = {name: set(X.ravel()) for name, (X, _) in parts.items()}
    assert numbers["fit"] | numbers["validation"] == set(range(60))
    assert not numbers["fit"] & numbers["validation"]
    assert len(numbers["validation"]) == 12
    for X, y in parts.values():
        np.testing.assert_array_equal(y, X.ravel() % 3)
    for name in ("train", "test"):
        X, y = spec.rows(dataset, name, 3)
        assert X is getattr(dataset, f"X_{name}")
        assert y is getattr(dataset, f"y_{name}")


def test_permuted_labels_are_those_of_the_training_rows_alone_in_fits_and_searches():
    y = np.repeat([0, 1, 2], [30, 20, 10])
    data = SimpleNamespace(
        X_train=np.arange(60.0)[:, None], y_train=y, X_test=np.ones((5, 1)), y_test=y[:5], train_groups=None
    )
    validation = Validation(fraction=0.25, metric="error", higher_is_better=False)
    plain, permuted = (
        JobSpec(dataset="made", validation=validation, permute_labels=value) for value in (False, True)
    )
    X, labels = permuted.rows(data, "train", 3)
    np.testing.assert_array_equal(X, data.X_train)
    assert sorted(labels) == sorted(y)
    assert np.mean(labels != y) > 0.3
    assert not np.array_equal(labels, permuted.rows(data, "train", 4)[1])
    for name in ("fit", "validation"):
        rows, found = permuted.rows(data, name, 3)
        np.testing.assert_array_equal(found, labels[rows[:, 0].astype(int)])
    np.testing.assert_array_equal(permuted.rows(data, "test", 3)[1], data.y_test)
    np.testing.assert_array_equal(plain.rows(data, "train", 3)[1], y)
    assert permuted.key(3, "none") != plain.key(3, "none")
