"""How long jobs may take: recorded where there is a record, estimated elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eigenbench.bench.jobs.expected_time import expected_seconds, suites_of
from eigenbench.bench.jobs.workflow import Workflow

SUITES = Path(__file__).resolve().parents[2] / "workflow" / "suites"


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    results = tmp_path_factory.mktemp("planned") / "results"
    return Workflow(
        {"suites": ["tiny"], "results_dir": str(results)}, Path("config.yaml"), SUITES, check=False
    )


def record_of(planned, experiment, method, seed, classifier=None):
    parts = [planned.results, "tiny", experiment, method, f"seed-{seed}", classifier, "record.json"]
    return Path(*filter(None, parts))


def test_a_search_takes_longer_than_a_fit_and_other_files_nothing(planned):
    start = expected_seconds(planned, [])
    fitted = (
        expected_seconds(planned, [str(record_of(planned, "grid", "gem", 0, "LogisticRegression"))]) - start
    )
    searched = expected_seconds(
        planned, [str(record_of(planned, "grid", "gem", 0, "CalibratedLeastSquares"))]
    )
    assert searched - start == pytest.approx(3 * fitted), "two candidates and what was chosen"
    assert fitted > 0
    receipts = [f"{planned.results}/tiny/tracked.json", f"{planned.results}/tiny/grid/tracked.json"]
    others = [*receipts, "reports/index.html", "data/raw/digits.json"]
    others += [f"{planned.results}/tiny/grid/gem/seed-0/LogisticRegression/model.skops"]
    assert expected_seconds(planned, others) == start


def test_a_measurement_is_estimated_too(planned):
    path = str(record_of(planned, "measured", "random", 0))
    assert expected_seconds(planned, [path]) > expected_seconds(planned, [])


@pytest.mark.parametrize("damaged", ["", "[]", "{}"])
def test_what_was_recorded_counts_and_a_damaged_record_does_not(planned, damaged):
    path = record_of(planned, "grid", "gem", 1, "LogisticRegression")
    estimated = expected_seconds(planned, [str(path)])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"fit_seconds": 70.0, "train_seconds": 30.0, "predict_seconds": None}))
    assert expected_seconds(planned, [str(path)]) == expected_seconds(planned, []) + 100
    path.write_text(damaged)
    assert expected_seconds(planned, [str(path)]) == estimated


def test_suites_are_known_by_their_files(planned):
    files = [
        f"{planned.results}/tiny/grid/tracked.json",
        f"{planned.results}/other/x/y.json",
        "reports/index.html",
    ]
    assert suites_of(planned, files) == ["tiny"]
