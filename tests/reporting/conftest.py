"""A small record set in the shape that real runs have. Its numbers are made up for these tests."""

import hashlib
import io
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from record_files import DATASETS, ENVIRONMENT, plan_of, write_all
from rich.console import Console

from eigenbench.bench.records.record import Candidate, Confusion, Failure, ModelInfo, Record, Search
from eigenbench.bench.suites.suite import Suite
from eigenbench.bench.suites.suite_file import load_suite

ERRORS = {
    "mnist": {"random": 251, "pca": 158, "gem": 111, "deep_gem": 108},
    "digits": {"identity": 17, "random": 11, "pca": 9, "gem": 6, "deep_gem": 7},
}
DIMENSIONS = {"identity": 64, "random": 600, "pca": 240, "gem": 1_620, "deep_gem": 3_600}

SUITE_PATH = Path(__file__).with_name("quick.yaml")
#: The keys that the plan gives the runs of the suite.
PLANNED = {
    (run.experiment, run.method, run.classifier, run.seed): run.key
    for run in plan_of(load_suite(SUITE_PATH)).runs
}


def _record(experiment: str, method: str, classifier: str, seed: int, /, **changes: object) -> Record:
    """Make a finished run; the numbers depend on its name only."""
    name = experiment, method, classifier, seed
    draw = random.Random(repr(name))
    info = DATASETS[experiment]
    wrong = ERRORS[experiment][method] + (draw.randint(-2, 3) if experiment == "digits" else 0)
    start = 1.4 if classifier != "LogisticRegression" else 0.9
    fields = {
        "run_key": PLANNED.get(name) or hashlib.sha256(repr(name).encode()).hexdigest()[:16],
        "suite": "quick",
        "experiment": experiment,
        "dataset": experiment,
        "method": method,
        "classifier": classifier,
        "seed": seed,
        "deterministic": False,
        "status": "ok",
        "metrics": {
            "test_errors": float(wrong),
            "test_error": wrong / info.n_test,
            "test_balanced_error": wrong / info.n_test + 0.0004,
            "test_log_loss": 4.1 * wrong / info.n_test,
        },
        "confusion": confusion(info.n_test, wrong, draw),
        "params": {"gem__top": 5} if "gem" in method else {},
        "dimension": DIMENSIONS[method] * (8 if experiment == "mnist" else 1),
        "fit_seconds": round(draw.uniform(0.05, 0.4) * (60 if experiment == "mnist" else 1), 3),
        "train_seconds": round(draw.uniform(0.1, 2.0) * (60 if experiment == "mnist" else 1), 3),
        "predict_seconds": round(draw.uniform(0.01, 0.05), 3),
        "peak_rss_mb": round(draw.uniform(300, 2_500), 1),
        "dataset_info": info,
        "model": ModelInfo(
            path="models/x.skops", sha256="0" * 64, bytes=254_321, input_dtype="uint8", n_features=64
        ),
        "environment": ENVIRONMENT,
        "started": f"2026-01-02T03:04:{seed:02d}Z",
        "finished": f"2026-01-02T03:05:{seed:02d}Z",
    }
    if classifier in ("CalibratedLeastSquares", "SecondOrderLogistic"):
        fields["curves"] = {
            "loss_curve": [(step, start * 0.55**step + 0.02 + draw.random() * 0.004) for step in range(12)],
            "validation_curve": [
                (step, start * 0.6**step + 0.05 + draw.random() * 0.01) for step in range(12)
            ],
        }
    if experiment == "digits" and method == "gem":
        grid = [{"gem__gamma": gamma, "gem__top": top} for gamma in (0.1, 1.0) for top in (2, 5)]
        scores = [0.03 + one["gem__gamma"] / 100 + one["gem__top"] / 1_000 for one in grid]
        tried = [
            Candidate(params=one, status="ok", score=score) for one, score in zip(grid, scores, strict=True)
        ]
        tried[1] = Candidate(params=grid[1], status="failed", score=None)
        fields["search"] = Search(metric="error", candidates=tried, selected=0)
    return Record.model_validate({**fields, **changes})


def _broken(status: str, failure: Failure) -> dict[str, object]:
    """Return the fields that turn a finished run into one without a result."""
    empty = ("confusion", "search", "dimension", "fit_seconds", "train_seconds", "predict_seconds", "model")
    return {"status": status, "failure": failure, "metrics": {}, "curves": {}, **dict.fromkeys(empty)}


def confusion(n_test: int, wrong: int, draw: random.Random) -> Confusion:
    matrix = [[n_test // 10 if row == column else 0 for column in range(10)] for row in range(10)]
    for _ in range(wrong):
        row = draw.randrange(10)
        matrix[row][row] -= 1
        matrix[row][(row + draw.choice((1, 3, 4, 8))) % 10] += 1
    return Confusion(labels=[str(label) for label in range(10)], matrix=matrix)


@pytest.fixture(scope="session")
def make_record() -> Callable[..., Record]:
    """Return the function that makes a record; keywords change its fields."""
    return _record


@pytest.fixture(scope="session")
def broken() -> Callable[..., dict[str, object]]:
    """Return the function that makes the fields of a run without a result."""
    return _broken


@pytest.fixture(scope="session")
def suite_path() -> Path:
    return SUITE_PATH


@pytest.fixture(scope="session")
def suite(suite_path: Path) -> Suite:
    return load_suite(suite_path)


@pytest.fixture(scope="session")
def records() -> list[Record]:
    """Every run of the suite, but one that failed, three that were not run and one without a record."""
    return [_record(*name, **changes) for name in PLANNED if (changes := _trouble(*name)) is not None]


def _trouble(experiment: str, method: str, classifier: str, seed: int) -> dict[str, object] | None:
    if (experiment, method, classifier) == ("digits", "deep_gem", "LinearSVC"):
        reason = "the download of digits was refused by every source"
        return _broken("not_run", Failure(stage="prepare", type="SourceError", message=reason))
    if (experiment, method, classifier, seed) == ("digits", "random", "LinearSVC", 1):
        failure = {"type": "MemoryError", "message": "needs 9 GB\nhas 6 GB", "log": "logs/train/ab12.log"}
        return _broken("failed", Failure(stage="train", **failure))
    if (experiment, method, classifier, seed) == ("digits", "identity", "LinearSVC", 2):
        return None
    return {}


@pytest.fixture(scope="session")
def few(records: list[Record]) -> list[Record]:
    """Return the runs of one experiment: a report of them takes a fraction of the time."""
    return [record for record in records if record.experiment == "mnist"]


@pytest.fixture
def pipe(monkeypatch) -> Console:
    """A terminal of 80 columns that is a file."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    return Console(file=io.StringIO())


@pytest.fixture
def results_dir(tmp_path: Path, few: list[Record]) -> Path:
    """A results folder with one file per record."""
    return write_all(tmp_path / "results", few)
