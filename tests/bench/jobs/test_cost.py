"""Distribution of work among jobs: small runs together, large ones each on their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_jobs import suite_of

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.datasets.catalogue import load_catalogue

ORDER = ("method", "seed", "fit")


def granularity(rows, n_seeds=1, **changes):
    """Return what one job makes of a method on so many rows."""
    catalogue = load_catalogue()
    digits = catalogue.entry("digits")
    digits = digits.model_copy(update={"expect": digits.expect.model_copy(update={"rows": {"all": rows}})})
    catalogue = catalogue.model_copy(update={"datasets": {**catalogue.datasets, "digits": digits}})
    (method,) = plan_suite(suite_of(seeds=list(range(n_seeds)), **changes), catalogue).methods
    return method.granularity


@pytest.mark.parametrize(
    ("rows", "n_seeds", "share"),
    [(1_000, 50, "method"), (2_400_000, 1, "method"), (2_400_000, 50, "seed"), (10**7, 1, "fit")],
)
def test_what_a_job_does_follows_from_the_size_of_the_data(rows, n_seeds, share):
    assert granularity(rows, n_seeds) == share


@given(rows=st.integers(100, 10**8), factor=st.integers(1, 100), n_seeds=st.integers(1, 50))
def test_more_work_is_never_put_into_larger_jobs(rows, factor, n_seeds):
    searching = {"CalibratedLeastSquares": {"grid": {"ridge": [1.0] * factor}}}
    small = ORDER.index(granularity(rows, n_seeds))
    assert small <= ORDER.index(granularity(rows * factor, n_seeds))
    assert small <= ORDER.index(granularity(rows, n_seeds * factor))
    assert small <= ORDER.index(granularity(rows, n_seeds, classifiers=searching))


def test_wide_features_count():
    wide = {"m": {"steps": [{"RandomDirections": {"n_components": 10_000}}]}}
    assert granularity(200_000) == "method"
    assert granularity(200_000, methods=wide) == "fit"
