"""How work is shared out among jobs: small runs together, large ones each on their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_jobs import plan_of

from eigenbench.bench.jobs.plan import granularity_of
from eigenbench.datasets.catalogue import load_catalogue

ORDER = ("method", "seed", "fit")


def resized(name, rows, features=None):
    entry = load_catalogue().entry(name)
    expect = {"rows": {"all": rows}, "features": features or entry.expect.features}
    return entry.model_copy(update={"expect": entry.expect.model_copy(update=expect)})


@pytest.mark.parametrize(("rows", "share"), [(1_000, "method"), (2_400_000, "seed"), (10_000_000, "fit")])
def test_what_a_job_does_follows_from_the_size_of_the_data(rows, share):
    assert granularity_of(plan_of().spec, resized("digits", rows), n_seeds=50) == share


@given(
    rows=st.integers(100, 10**8),
    factor=st.integers(1, 100),
    n_seeds=st.integers(1, 50),
)
def test_more_work_is_never_put_into_larger_jobs(rows, factor, n_seeds):
    spec = plan_of().spec
    searching = plan_of(classifiers={"CalibratedLeastSquares": {"grid": {"ridge": [1.0] * factor}}}).spec
    small = ORDER.index(granularity_of(spec, resized("digits", rows), n_seeds))
    assert small <= ORDER.index(granularity_of(spec, resized("digits", rows * factor), n_seeds))
    assert small <= ORDER.index(granularity_of(spec, resized("digits", rows), n_seeds * factor))
    assert small <= ORDER.index(granularity_of(searching, resized("digits", rows), n_seeds))


def test_a_seed_is_a_job_only_where_there_are_several():
    for rows in (10**power for power in range(2, 9)):
        assert granularity_of(plan_of().spec, resized("digits", rows), n_seeds=1) != "seed"


def test_wide_features_count():
    entry = resized("digits", 200_000)
    wide = plan_of(methods={"m": {"steps": [{"RandomDirections": {"n_components": 10_000}}]}}).spec
    assert granularity_of(wide, entry, 1) == "fit"
    assert granularity_of(plan_of().spec, entry, 1) == "method"
