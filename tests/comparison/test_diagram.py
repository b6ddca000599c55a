import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.comparison.diagram import critical_difference_diagram


@given(st.lists(st.integers(10, 60).map(lambda r: r / 10), min_size=1, max_size=8), st.floats(0.05, 4))
def test_groups_by_a_critical_difference(values, critical):
    ranks = pd.Series(values, index=[f"m{j}" for j in range(len(values))])
    differ = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy())) > critical
    found = critical_difference_diagram(ranks, differ)
    assert found.positions.is_monotonic_increasing
    assert found.positions.to_dict() == ranks.to_dict()
    groups = [set(group) for group in found.groups]
    for group in groups:
        assert len(group) >= 2
        assert np.ptp(ranks[list(group)]) <= critical
        assert not any(group < other for other in groups)
    together = {frozenset((a, b)) for group in groups for a in group for b in group if a != b}
    close = {
        frozenset((a, b))
        for a in ranks.index
        for b in ranks.index
        if a < b and abs(ranks[a] - ranks[b]) <= critical
    }
    assert together == close


def test_no_bar_spans_two_methods_that_differ():
    ranks = pd.Series({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0})
    differ = np.zeros((4, 4), bool)
    differ[0, 1] = differ[1, 0] = True
    assert critical_difference_diagram(ranks, differ).groups == (("b", "c", "d"),)


def test_all_methods_may_differ_or_none():
    ranks = pd.Series({"a": 2.0, "b": 1.0, "c": 3.0})
    assert critical_difference_diagram(ranks, ~np.eye(3, dtype=bool)).groups == ()
    assert critical_difference_diagram(ranks, np.zeros((3, 3))).groups == (("b", "a", "c"),)


@pytest.mark.parametrize(
    ("ranks", "differ"),
    [([1.0, 2.0], np.zeros((3, 3))), ([1.0, 2.0], [[0, 1], [0, 0]]), ([1.0, np.nan], np.zeros((2, 2)))],
)
def test_what_does_not_fit_is_refused(ranks, differ):
    with pytest.raises(ValueError, match="finite ranks and a symmetric array of 2 x 2"):
        critical_difference_diagram(pd.Series(ranks), differ)
