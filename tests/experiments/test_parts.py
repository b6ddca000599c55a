import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from eigenbench.experiments.parts import holdout_split


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
