import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenbench.comparison.pareto import pareto_front

points = hnp.arrays(
    float,
    st.tuples(st.integers(0, 12), st.integers(1, 3)),
    elements=st.sampled_from([0, 1, 2, 3, np.inf, np.nan]),
)


def beats(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True)) and any(x < y for x, y in zip(a, b, strict=True))


@given(points)
def test_the_front_is_what_nothing_beats(values):
    finite = [np.isfinite(p).all() for p in values]
    rivals = [p for p, ok in zip(values, finite, strict=True) if ok]
    expected = [ok and not any(beats(r, p) for r in rivals) for p, ok in zip(values, finite, strict=True)]
    np.testing.assert_array_equal(pareto_front(values), np.array(expected, dtype=bool))
    assert pareto_front(values).any() == any(finite)
