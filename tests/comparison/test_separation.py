"""The simulation study, a hundred repetitions of each design: its full table is benchmarks/separation.csv."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from eigenbench.datasets import DatasetError

PATH = Path(__file__).parents[2] / "benchmarks" / "separation.py"
spec = importlib.util.spec_from_file_location("separation", PATH)
study = importlib.util.module_from_spec(spec)
spec.loader.exec_module(study)


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
