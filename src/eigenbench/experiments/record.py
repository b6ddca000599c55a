"""The record of one run: what a job measured, as one JSON file that every later stage reads."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eigenbench.protocols.base import Exhibit

Status = Literal["ok", "failed", "not_run"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Failure(_Model):
    """Why a run has no metrics."""

    stage: str
    type: str
    message: str
    log: str | None = None


class Candidate(_Model):
    """One point of a hyperparameter search, scored on validation data."""

    params: dict[str, Any]
    status: Status
    score: float | None = None


class Search(_Model):
    """A hyperparameter search: its candidates and the one that was refitted on all training data."""

    metric: str
    candidates: list[Candidate]
    selected: int | None = None


class DatasetInfo(_Model):
    """What the run was fitted and tested on."""

    name: str
    sha256: str
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    split: str
    source: str
    licence: str


class ModelInfo(_Model):
    """The fitted pipeline, from raw inputs to labels, in skops form."""

    path: str
    sha256: str
    bytes: int
    input_dtype: str
    n_features: int


class Confusion(_Model):
    """Counts of test examples, rows true and columns predicted."""

    labels: list[str]
    matrix: list[list[int]]


class Environment(_Model):
    """Where the numbers come from."""

    python: str
    platform: str
    cpu: str
    threads: int
    packages: dict[str, str]
    git_commit: str | None
    git_dirty: bool | None
    code_hash: str


class Record(_Model):
    """One run: suite × dataset × method × classifier × seed.

    Attributes
    ----------
    run_key : str
        16 hexadecimal digits: SHA-256 of everything that determines the result.
    metrics : dict
        ``test_error`` (share), ``test_errors`` (count), ``test_log_loss`` (nats) and others by name.
    curves : dict
        Name to a list of (step, value).
    exhibits : list
        Data of pictures, drawn by the report and for the dashboard.
    params : dict
        The parameters used, after selection, as ``step__parameter``.
    dimension : int or None
        Number of features that reach the classifier.
    fit_seconds, train_seconds, predict_seconds : float or None
        Wall time of embedding, classifier (feature map included) and test prediction.
    peak_rss_mb : float or None
        Largest resident set of the job processes, in MiB.
    deterministic : bool
        Whether the seed changes nothing, so that seeds give no interval.
    """

    schema_version: Literal[1] = 1
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


class RecordError(ValueError):
    """A record file is missing, truncated, or not a record."""


def read_record(path: Path) -> Record:
    """Read and validate one record.

    Raises
    ------
    RecordError
        Naming the file and what is wrong in it.
    """
    try:
        return Record.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{'.'.join(map(str, first['loc'])) or 'file'}: {first['msg']}"
    except OSError as error:
        problem = str(error)
    raise RecordError(f"{path}: not a readable run record ({problem}); delete it and run snakemake again")


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that ``path`` is either the old file or the whole new one, whatever happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(value, stream, indent=1, sort_keys=True, allow_nan=False)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
