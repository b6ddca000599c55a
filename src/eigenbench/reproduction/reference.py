"""Reference results of every run, as they come with eigenbench."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from eigenbench.bench.records.runs import Run
from eigenbench.datasets.project_files import project_folder

#: The columns of ``results.csv`` that name a run.
NAME = ("dataset", "method", "classifier", "seed")
_SECONDS = ("fit_seconds", "train_seconds")
_RESULT = ("metric", "value", "status", "run_key", *_SECONDS)


class ReproductionError(ValueError):
    """Reference or receipt is absent, or cannot be read; the message names the file and the remedy."""


@dataclass(frozen=True)
class ReferenceRun:
    """One run of the reference; ``name`` is dataset, method, classifier and seed.

    ``run_key`` is of its settings. ``status`` is ``ok``, ``failed`` or ``not_run``; without ``ok`` there are
    no metrics. ``seconds`` has the times to fit and to train that are known.
    """

    name: tuple[str, ...]
    run_key: str
    status: str
    metrics: dict[str, float]
    seconds: dict[str, float]


@dataclass(frozen=True)
class Reference:
    """The reference runs of one suite, in the order of the files."""

    suite: str
    runs: list[ReferenceRun]

    @property
    def digest(self) -> str:
        """SHA-256 of names, keys, states and metrics in any order: a receipt is for one version of them."""
        content = sorted([*run.name, run.run_key, run.status, run.metrics] for run in self.runs)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def find(self, planned: Sequence[Run]) -> list[ReferenceRun | None]:
        """Return for each planned run that of its name and key, or else of its name and other settings.

        Results do not name the experiment, and runs of two can share all other names. Other settings count
        only where a single planned run and a single run of the reference are left of a name.
        """
        asked: list[tuple[str, ...]] = [
            (run.dataset, run.method, run.classifier, str(run.seed), run.key) for run in planned
        ]
        there = {(*run.name, run.run_key): run for run in self.runs}
        left = there.keys() - set(asked)
        n_left = Counter(key[:-1] for key in left)
        n_without = Counter(key[:-1] for key in set(asked) - there.keys())
        other = {key[:-1]: there[key] for key in left if n_left[key[:-1]] == n_without[key[:-1]] == 1}
        return [there.get(key, other.get(key[:-1])) for key in asked]


def default_reference_folder() -> Path:
    """Return the reference that comes with eigenbench."""
    return project_folder() / "reports" / "reference"


def load_reference(suite: str, folder: Path | None = None) -> Reference:
    """Read the reference runs of a suite from every ``results*.csv`` of a folder and those below it.

    A `ReproductionError` refuses a folder without a result of the suite, and a file that lacks a column or
    has a value that is no number.
    """
    folder = folder or default_reference_folder()
    by_key: dict[tuple[str, ...], ReferenceRun] = {}
    for path in sorted(folder.rglob("results*.csv")):
        for *name, metric, value, status, key, fit, train in _rows_of(suite, path, (*NAME, *_RESULT)):
            if (run := by_key.get((*name, key))) is None:
                times = zip(_SECONDS, (fit, train), strict=True)
                seconds = {column: _number(text, path, column) for column, text in times if text}
                run = by_key[*name, key] = ReferenceRun(tuple(name), key, status, {}, seconds)
            if metric:
                run.metrics[metric] = _number(value, path, metric)
    if not by_key:
        raise ReproductionError(
            f"{folder}: no reference results of suite {suite!r}; name the folder of a report that has them"
        )
    return Reference(suite, list(by_key.values()))


def _rows_of(suite: str, path: Path, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Read the columns of a table, and keep the rows of one suite."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        reader = csv.reader(stream)
        header = next(reader, [])
        if absent := [column for column in ("suite", *columns) if column not in header]:
            raise ReproductionError(
                f"{path}: no column {', '.join(absent)}: take the file of a report as it is"
            )
        place, pick = header.index("suite"), itemgetter(*map(header.index, columns))
        try:
            return [pick(row) for row in reader if row and row[place] == suite]
        except IndexError:
            raise ReproductionError(
                f"{path}, line {reader.line_num}: a value is missing: take the file of a report as it is"
            ) from None


def _number(text: str, path: Path, metric: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ReproductionError(f"{path}: {metric}: {text!r:.40} is no number") from None
