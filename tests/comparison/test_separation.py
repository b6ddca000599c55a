"""The simulation study, a hundred repetitions of each design: its full table is benchmarks/separation.csv."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

from eigenbench.datasets import DatasetError

PATH = Path(__file__).parents[2] / "benchmarks" / "separation.py"
spec = importlib.util.spec_from_file_location("separation", PATH)
study = importlib.util.module_from_spec(spec)
spec.loader.exec_module(study)


#: The designs that false separations of 3 to 8 % were asked for, at a nominal 5 %.
REQUIRED = ("large_pool", "resplits", "one_test_set", "grouped_splits")


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(PATH.with_suffix(".csv"))


def test_the_committed_study_separates_equal_methods_in_three_to_eight_percent(table):
    found = table[table["design"].isin(REQUIRED)]
    assert set(found["design"]) == set(REQUIRED)
    assert (found["repetitions"] >= 600).all()
    assert (found["false"] <= 0.08).all()
    # A share below 3 % must be one that 600 repetitions cannot distinguish from 3 %.
    for line in found.itertuples():
        n_false = round(line.false * line.repetitions)
        assert stats.binomtest(n_false, line.repetitions, 0.03, alternative="less").pvalue > 0.05, line


def test_the_committed_study_finds_two_points_where_a_valid_plain_test_does(table):
    ten = table[(table["splits"] == 10) & (table["found_t"] >= 0.8)]
    assert len(ten)
    assert (ten["found"] >= 0.8).all()


def test_every_design_of_the_study_keeps_its_level(table):
    assert set(table["design"]) == set(study.BY_NAME)
    assert (table["false"] <= 0.08).all()


@pytest.fixture(scope="module")
def covertype():
    try:
        study.covertype()
    except DatasetError as error:
        pytest.skip(f"Covertype cannot be had: {error}")


@pytest.mark.slow
@pytest.mark.parametrize("design", study.DESIGNS, ids=study.BY_NAME)
def test_equal_methods_are_seldom_separated_and_two_points_are_found(design, request):
    if design in (study.large_pool, study.one_test_set):
        request.getfixturevalue("covertype")
    lines = pd.DataFrame(line for seed in range(100) for line in study.repetition(design, 10_000 + seed))
    shares = lines.groupby(["methods", "splits"])[["false", "found", "found_t"]].mean().astype(float)
    print(f"\n{design.__name__}\n{shares}")
    assert (shares["false"] <= 0.12).all()
    if design is study.large_pool:
        ten = shares.xs(10, level="splits")
        assert (ten["found"][ten["found_t"] >= 0.8] >= 0.8).all()
