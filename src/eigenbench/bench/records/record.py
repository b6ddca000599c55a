"""The record of one run: what a job measured, as one JSON file that every later stage reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError, field_validator

from eigenbench.bench.exhibits import Exhibit
from eigenbench.bench.records.sealed_json import (
    REMEDY,
    DamagedFileError,
    check_sums,
    seal_matches,
    write_sealed,
)
from eigenbench.datasets.strict_model import StrictModel, printable

SCHEMA_VERSION: Final = 2

Status = Literal["ok", "failed", "not_run"]


class Failure(StrictModel):
    """Reason for a run without metrics."""

    stage: str
    type: str
    message: str
    log: str | None = None


class Candidate(StrictModel):
    """One point of a hyperparameter search, scored on validation data."""

    params: dict[str, Any]
    status: Status
    score: float | None = None


class Search(StrictModel):
    """A hyperparameter search: its candidates, and the one that was refitted on all training data."""

    metric: str
    candidates: list[Candidate]
    selected: int | None = None


class DatasetInfo(StrictModel):
    """Data that the run was fitted and tested on."""

    name: str
    sha256: str
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    split: str
    source: str
    licence: str


class FileInfo(StrictModel):
    """A file beside the record."""

    sha256: str
    bytes: int


class ModelInfo(FileInfo):
    """The fitted pipeline, from raw inputs to labels, in skops form."""

    path: str
    input_dtype: str
    n_features: int


class Confusion(StrictModel):
    """Counts of test examples, rows true and columns predicted."""

    labels: list[str]
    matrix: list[list[int]]


class Environment(StrictModel):
    """Origin of the numbers: code, versions, machine.

    ``gemm_gflops`` is the machine's rate of float32 matrix products with these threads, in 10^9 operations a
    second: what makes seconds of several machines comparable. ``blas`` is the library of matrix products and
    the kernels it chose.
    """

    python: str
    platform: str
    cpu: str
    threads: int
    gemm_gflops: float | None = None
    packages: dict[str, str]
    blas: str | None = None
    git_commit: str | None
    git_dirty: bool | None
    code_hash: str


class Record(StrictModel):
    """One run: suite × dataset × method × classifier × seed.

    - ``run_key``: 16 hexadecimal digits: SHA-256 of everything that determines the result.
    - ``metrics``: ``test_error`` (share), ``test_errors`` (count), ``test_log_loss`` (nats) and others by
      name.
    - ``curves``: Name to a list of (step, value).
    - ``exhibits``: Data of pictures, drawn by the report and for the dashboard; empty ones are left out.
    - ``params``: The parameters used, after selection, as ``step__parameter``.
    - ``dimension``: Number of features that reach the classifier.
    - ``search_seconds``, ``fit_seconds``, ``train_seconds``, ``predict_seconds``: Wall time of the search,
      embedding, classifier (feature map included) and test prediction.
    - ``peak_rss_mb``: Largest resident set of the job processes, in MiB.
    - ``deterministic``: Whether the seed changes nothing, so that seeds give no interval.
    - ``warnings``: Doubts about a result that is one, such as a single class for all test rows.
    - ``files``: Every file that the run has left beside its record, by name.
    - ``replaces``: The damaged record that this one took the place of; see `eigenbench.bench.jobs.outputs`.
    """

    schema_version: Literal[2] = SCHEMA_VERSION
    run_key: str = Field(pattern=r"^[0-9a-f]{16}$")
    suite: str
    experiment: str
    dataset: str
    method: str
    classifier: str
    seed: int
    deterministic: bool
    status: Status
    failure: Failure | None = None
    metrics: dict[str, float] = {}
    curves: dict[str, list[tuple[int, float]]] = {}
    exhibits: list[Exhibit] = []
    confusion: Confusion | None = None
    params: dict[str, Any] = {}
    search: Search | None = None
    search_seconds: float | None = None
    dimension: int | None = None
    fit_seconds: float | None = None
    train_seconds: float | None = None
    predict_seconds: float | None = None
    peak_rss_mb: float | None = None
    dataset_info: DatasetInfo | None = None
    model: ModelInfo | None = None
    environment: Environment | None = None
    started: str | None = None
    finished: str | None = None
    warnings: list[str] = []
    files: dict[str, FileInfo] = {}
    replaces: str = ""

    @field_validator("exhibits")
    @classmethod
    def _with_something_to_draw(cls, exhibits: list[Exhibit]) -> list[Exhibit]:
        return [exhibit for exhibit in exhibits if not exhibit.is_empty()]


class RecordError(DamagedFileError):
    """A record file is missing, cut short, changed after it was written, or not a record."""


def write_record(path: Path, record: Record) -> None:
    """Write a record with its seal (`eigenbench.bench.records.sealed_json`)."""
    write_sealed(path, record.model_dump(mode="json"))


def read_record(path: Path) -> Record:
    """Read a record and make its texts printable; the RecordError says what is wrong with which file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror or error}); {REMEDY}") from error
    if not seal_matches(content):
        raise RecordError(f"{path}: {_why_refused(content)}; {REMEDY}")
    fields = printable(json.loads(content))
    del fields["seal"]
    try:
        return Record.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{'.'.join(map(str, first['loc'])) or 'file'}: {first['msg']}"
        raise RecordError(f"{path}: not a run record ({problem}); {REMEDY}") from error


def read_record_and_files(path: Path, *names: str) -> Record:
    """Read one record, and check the sums of those of the named files beside it that are there.

    The DamagedFileError names the file and what is wrong with it; one whose sum differs was set aside.
    """
    record = read_record(path)
    there = [name for name in names if name in record.files and path.with_name(name).exists()]
    files = {name: record.files[name].model_dump() for name in there}
    check_sums(path, files, path.read_bytes())
    return record


def _why_refused(content: bytes) -> str:
    """Say what is wrong with a file whose seal does not match."""
    try:
        found = json.loads(content)["schema_version"]
    except (KeyError, TypeError):
        return "not a run record"
    except (ValueError, RecursionError) as error:
        return f"not a run record ({error})"
    if found != SCHEMA_VERSION:
        return f"has schema version {found!r}, and this eigenbench reads version {SCHEMA_VERSION}"
    return "was changed after it was written (its seal does not match)"
