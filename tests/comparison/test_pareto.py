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


@given(points)
def test_the_front_is_what_nothing_beats(values):
    finite = np.isfinite(values).all(axis=1)
    rivals = values[finite]
    beaten = [((rivals <= p).all(axis=1) & (rivals < p).any(axis=1)).any() for p in values]
    np.testing.assert_array_equal(pareto_front(values), finite & ~np.array(beaten, dtype=bool))
    assert pareto_front(values).any() == finite.any()
