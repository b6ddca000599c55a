"""The runs of one suite in a store: what is there, how one more is written, and which one of a key stays.

A run is written once: content, files, and last the mark that it has ended. What has changed is written anew,
then the old run is deleted. So a killed import leaves no half run that counts, and no two imports clash.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eigenbench.bench.records.record import Record
from eigenbench.bench.records.sealed_json import check_sums
from eigenbench.tracking.addresses import artifact_location, sqlite_path

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Experiment, LoggedModel, Metric, Param

#: Kinds of runs in the store: a record, the seeds of a method and classifier, and an experiment.
RUN, SUMMARY, OVERVIEW = "run", "summary", "overview"
#: The tags with the run above and with the description, as MLflow documents them.
PARENT = "mlflow.parentRunId"
NOTE = "mlflow.note.content"

# The most that MLflow takes or gives in one call, and in one tag.
_METRICS_PER_CALL = 900
_PARAMS_PER_CALL = 100
_RUNS_PER_PAGE = 1000
_MODELS_PER_PAGE = 100
_TAG_LENGTH = 8000
# An import in progress elsewhere finishes a run well within this time.
_MILLISECONDS_TO_FINISH = 3_600_000


class Key(NamedTuple):
    """The identity of a run in its suite; of each key one run stays. Only records have a ``run_key``."""

    kind: str
    experiment: str
    method: str = ""
    classifier: str = ""
    run_key: str = ""

    @property
    def summary(self) -> Key:
        """The key of the summary of a record's method and classifier."""
        return self._replace(kind=SUMMARY, run_key="")


@dataclass(frozen=True)
class StoredRun:
    """A run in the store; times are in milliseconds since 1970, the end is 0 while it has not ended."""

    run_id: str
    tags: Mapping[str, str]
    start_time: int
    end_time: int

    @property
    def key(self) -> Key:
        """The identity, from the tags; the kind of a run without that tag is a record's."""
        return Key(**({"kind": RUN} | {name: self.tags[name] for name in Key._fields if name in self.tags}))

    @property
    def content(self) -> str:
        """The version of what it shows: the SHA-256 of its record, or a fingerprint."""
        return self.tags.get("record_sha256") or self.tags.get("summary_of", "")

    @property
    def source(self) -> str:
        """The machine and results folder of the import that wrote it."""
        return self.tags.get("imported_from", "")


def source_of(results_dir: Path) -> str:
    """Return the name of a results folder among all that are imported into one store."""
    return f"{socket.gethostname()}:{os.path.realpath(results_dir)}"


def latest(runs: Iterable[StoredRun]) -> StoredRun | None:
    """Return the latest of several whole runs, and of two of one time that with the larger id."""
    whole = (run for run in runs if run.end_time)
    return max(whole, key=lambda run: (run.end_time, run.run_id), default=None)


@dataclass(frozen=True)
class Entry:
    """A record to import, and the SHA-256 of its file."""

    path: Path
    record: Record
    sha256: str

    @property
    def key(self) -> Key:
        """The identity of its run."""
        of = self.record
        return Key(RUN, of.experiment, of.method, of.classifier, of.run_key)

    @property
    def times(self) -> tuple[int, int]:
        """Start and end in milliseconds since 1970; a record without times has those of its file."""
        written = self.path.stat().st_mtime
        start, end = (
            int(1000 * (datetime.fromisoformat(text).timestamp() if text else written))
            for text in (self.record.started, self.record.finished)
        )
        return start, max(start, end)

    def shown_by(self, found: Iterable[StoredRun], source: str) -> StoredRun | None:
        """Return the run that makes importing this record unnecessary: the same, or later from elsewhere."""
        end = self.times[1]
        later = (run for run in found if run.source != source and run.end_time > end)
        return latest([*later, *(run for run in found if run.content == self.sha256)])

    def model_file(self) -> Path:
        """Return the file of its model; the DamagedFileError names one that is not as the record says."""
        assert self.record.model is not None
        name = Path(self.record.model.path).name
        check_sums(self.path, {name: {"sha256": self.record.model.sha256}}, self.path.read_bytes())
        return self.path.with_name(name)


def was_moved(found: Experiment, uri: str) -> bool:
    """Return whether the files of an experiment, kept beside an SQLite store, are not beside it any more."""
    beside = found.artifact_location.endswith(f"/mlartifacts/{found.name}") and sqlite_path(uri)
    own = beside and not os.environ.get("EIGENBENCH_ARTIFACTS")
    return bool(own) and found.artifact_location != artifact_location(uri, found.name)


def stored_runs(
    client: MlflowClient, experiment_id: str, experiments: Collection[str]
) -> dict[Key, list[StoredRun]]:
    """Return the runs of some experiments of a suite by key."""
    found: dict[Key, list[StoredRun]] = {}
    for name in experiments:
        search = f"tags.experiment = '{name}'"
        for run in _pages(client.search_runs, [experiment_id], search, max_results=_RUNS_PER_PAGE):
            stored = StoredRun(run.info.run_id, run.data.tags, run.info.start_time, run.info.end_time or 0)
            if stored.key.run_key or stored.key.kind != RUN:
                found.setdefault(stored.key, []).append(stored)
    return found


def _pages(search: Callable[..., Any], *arguments: object, **options: object) -> Iterator[Any]:
    token: str | None = ""
    while token is not None:
        page = search(*arguments, **options, page_token=token or None)
        yield from page
        token = page.token or None


def _cut(text: str) -> str:
    """Return what one tag takes of a text: all, or its first whole lines and the number of the others."""
    kept = text[: _TAG_LENGTH - 40].rpartition("\n")[0] or text[: _TAG_LENGTH - 40]
    n_more = text.count("\n", len(kept))
    return text if len(text) <= _TAG_LENGTH else f"{kept}\n\nand {n_more} more lines"


class SuiteStore:
    """The part of a store that belongs to a suite: an experiment of MLflow, made or restored if need be.

    ``runs``: by key. ``changed``: it was written to. ``described``: an earlier import had the suite file.
    """

    def __init__(self, client: MlflowClient, uri: str, suite: str, experiments: Collection[str], source: str):
        self.client, self.suite, self.source, self.changed = client, suite, source, False
        found = client.get_experiment_by_name(suite)
        if found and was_moved(found, uri):
            # The store was moved or copied. `mlflow gc` would delete the files, which may be the original's.
            client.rename_experiment(found.experiment_id, f"{suite} until {datetime.now():%F %T.%f}")
            note = f"The store was moved. The files of these runs are in `{found.artifact_location}`."
            client.set_experiment_tag(found.experiment_id, NOTE, note)
            found = None
        if found and found.lifecycle_stage == "deleted":
            client.restore_experiment(found.experiment_id)
        place = artifact_location(uri, suite)
        self.experiment_id = found.experiment_id if found else client.create_experiment(suite, place)
        self.described = found is not None and NOTE in found.tags
        self.runs = stored_runs(client, self.experiment_id, experiments)

    def seeds(self, experiment: str, planned: Collection[str] | None) -> list[StoredRun]:
        """Return the latest whole run of each method, classifier and seed, of those with planned run keys."""
        found: dict[tuple[Key, str], list[StoredRun]] = {}
        for key, runs in self.runs.items():
            counts = planned is None or key.run_key in planned
            for run in runs if counts and (key.kind, key.experiment) == (RUN, experiment) else ():
                found.setdefault((key.summary, run.tags.get("seed", "")), []).append(run)
        return [kept for key in sorted(found) if (kept := latest(found[key]))]

    def whole(self, key: Key, content: str) -> StoredRun | None:
        """Return the whole run with this content; of several one that all imports agree on."""
        return latest(run for run in self.runs.get(key, []) if run.content == content)

    def keep(self, key: Key, kept: StoredRun | None) -> None:
        """Delete all runs of a key but one, and what killed imports left of it, from here or long ago."""
        for run in list(self.runs.get(key, [])):
            age = abs(1000 * time.time() - int(run.tags.get("imported_at", "0")))
            abandoned = run.source == self.source or age > _MILLISECONDS_TO_FINISH
            if run != kept and (run.end_time or abandoned):
                self.changed = True
                if stored := self.models.pop(run.run_id, None) if key.kind == RUN else None:
                    self.client.delete_logged_model(stored.model_id)
                self.client.delete_run(run.run_id)
                self.runs[key].remove(run)

    def write(
        self,
        key: Key,
        name: str,
        tags: Mapping[str, object],
        start_time: int,
        end_time: int,
        *,
        files: Mapping[str, bytes] | None = None,
        ok: bool = True,
        metrics: Sequence[Metric] = (),
        params: Sequence[Param] = (),
        datasets: Sequence[DatasetInput] = (),
    ) -> StoredRun:
        """Write a run: content, files by their paths, end."""
        from mlflow.exceptions import MlflowException

        self.changed = True
        identity = {field: value for field, value in key._asdict().items() if value}
        origin = {"suite": self.suite, "imported_from": self.source, "imported_at": int(1000 * time.time())}
        shown = dict(tags) | identity | origin
        texts = {tag: _cut(str(value)) for tag, value in shown.items() if value is not None}
        created = self.client.create_run(self.experiment_id, start_time, tags=texts, run_name=name)
        run_id = created.info.run_id
        try:
            while metrics or params:
                self.client.log_batch(run_id, metrics[:_METRICS_PER_CALL], params[:_PARAMS_PER_CALL])
                metrics, params = metrics[_METRICS_PER_CALL:], params[_PARAMS_PER_CALL:]
            if datasets:
                self.client.log_inputs(run_id, list(datasets))
        except MlflowException as error:
            if error.error_code == "INVALID_PARAMETER_VALUE":
                self.client.delete_run(run_id)
            raise
        if files:
            with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder:
                for file, content in files.items():
                    path = Path(folder, file)
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(content)
                self.client.log_artifacts(run_id, folder)
        self.client.set_terminated(run_id, "FINISHED" if ok else "FAILED", end_time)
        run = StoredRun(run_id, texts, start_time, end_time)
        self.runs.setdefault(key, []).append(run)
        return run

    @cached_property
    def models(self) -> dict[str, LoggedModel]:
        """The whole models by the run that made them; what a killed import left of others is deleted."""
        found: dict[str, LoggedModel] = {}
        search = self.client.search_logged_models
        for model in _pages(search, [self.experiment_id], max_results=_MODELS_PER_PAGE):
            if str(model.status) == "READY":
                found[str(model.source_run_id)] = model
            elif model.tags.get("imported_from") == self.source:
                self.client.delete_logged_model(model.model_id)
        return found
