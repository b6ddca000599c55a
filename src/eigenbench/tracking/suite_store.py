"""The runs of one suite in a store: what is there, how one more is written, and which one of a key stays.

A run of any kind is written once: its content first, then its files, and last the mark that it has ended.
What has changed is written anew, and then the old run is deleted. So a killed import leaves no half run that
counts, and of several imports at the same time no two write into one run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from eigenbench.tracking.addresses import artifact_location
from eigenbench.tracking.models import log_model, stored_models
from eigenbench.tracking.run_content import tag_values
from eigenbench.tracking.stored import CONTENT_TAGS, PARENT_TAG, RUN, Key, StoredRun, stored_runs

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, LoggedModel, Metric, Param

    from eigenbench.bench.records.record import Record

# The most that MLflow takes in one call.
_METRICS_PER_CALL = 1000
_PARAMS_PER_CALL = 100


@dataclass(frozen=True)
class NewRun:
    """The content of a run that is to be written; ``write_files`` puts its files into a folder."""

    key: Key
    content: str
    name: str
    tags: Mapping[str, object]
    start_time: int
    end_time: int
    write_files: Callable[[Path], None] | None = None
    ok: bool = True
    metrics: Sequence[Metric] = ()
    params: Sequence[Param] = ()
    datasets: Sequence[DatasetInput] = ()


class SuiteStore:
    """The part of a store that belongs to a suite, as it is now.

    Parameters
    ----------
    client : MlflowClient
        The store.
    uri : str
        Its address.
    suite : str
        The suite, which is MLflow's experiment; it is made, or restored, where there is none.
    experiments : collection of str
        The experiments of the suite that are looked at.
    source : str
        The results folder that is imported, by `eigenbench.tracking.stored.source_of`.

    Attributes
    ----------
    runs : dict
        Key to the runs that show it.
    changed : bool
        Whether anything was written since.
    """

    def __init__(self, client: MlflowClient, uri: str, suite: str, experiments: Collection[str], source: str):
        self.client, self.uri, self.suite, self.source = client, uri, suite, source
        self.changed = False
        self.experiment_id = self._experiment()
        self.runs = stored_runs(client, self.experiment_id, experiments)

    def _experiment(self) -> str:
        found = self.client.get_experiment_by_name(self.suite)
        if found is None:
            place = artifact_location(self.uri, self.suite)
            return str(self.client.create_experiment(self.suite, artifact_location=place))
        if found.lifecycle_stage == "deleted":
            self.client.restore_experiment(found.experiment_id)
        return str(found.experiment_id)

    def ended(self, key: Key, content: str) -> StoredRun | None:
        """Return the whole run with this content: of several the earliest, so that all imports agree."""
        found = [run for run in self.runs.get(key, []) if run.ended and run.content == content]
        return min(found, key=lambda run: (run.written, run.run_id), default=None)

    def keep(self, key: Key, kept: StoredRun | None) -> None:
        """Delete all runs of a key but one, and what killed imports left of it."""
        for run in list(self.runs.get(key, [])):
            if run != kept and (run.ended or run.is_abandoned(self.source)):
                self._delete(run)
                self.runs[key].remove(run)

    def write(self, new: NewRun) -> StoredRun:
        """Write a run: content, files, end."""
        self.changed = True
        now = int(1000 * time.time())
        tags = {name: value for name, value in new.key.group._asdict().items() if value} | dict(new.tags)
        tags |= {"kind": new.key.kind, "suite": self.suite, CONTENT_TAGS[new.key.kind]: new.content}
        values = tag_values(tags | {"imported_from": self.source, "imported_at": now})
        created = self.client.create_run(
            self.experiment_id, new.start_time, tags=values, run_name=new.name
        ).info
        run_id = created.run_id
        calls = max(-(-len(new.metrics) // _METRICS_PER_CALL), -(-len(new.params) // _PARAMS_PER_CALL))
        for call in range(calls):
            self.client.log_batch(
                run_id,
                metrics=new.metrics[call * _METRICS_PER_CALL : (call + 1) * _METRICS_PER_CALL],
                params=new.params[call * _PARAMS_PER_CALL : (call + 1) * _PARAMS_PER_CALL],
            )
        if new.datasets:
            self.client.log_inputs(run_id, list(new.datasets))
        if new.write_files:
            with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder:
                new.write_files(Path(folder))
                self.client.log_artifacts(run_id, folder)
        self.client.set_terminated(run_id, "FINISHED" if new.ok else "FAILED", new.end_time)
        run = StoredRun(
            run_id, new.key, new.content, True, self.source, now, new.start_time, new.end_time, values
        )
        self.runs.setdefault(new.key, []).append(run)
        return run

    def set_parent(self, run: StoredRun, parent: StoredRun) -> None:
        """Put a run below another one."""
        if run.tags.get(PARENT_TAG) != parent.run_id:
            self.changed = True
            self.client.set_tag(run.run_id, PARENT_TAG, parent.run_id)

    def set_note(self, note: str) -> None:
        """Describe the suite."""
        name = "mlflow.note.content"
        if self.client.get_experiment(self.experiment_id).tags.get(name) != note:
            self.client.set_experiment_tag(self.experiment_id, name, note)

    @cached_property
    def models(self) -> dict[str, LoggedModel]:
        """The whole models by the run that made them; what a killed import left of others is deleted."""
        found: dict[str, LoggedModel] = {}
        for model in stored_models(self.client, self.experiment_id):
            if str(model.status) == "READY":
                found[str(model.source_run_id)] = model
            elif model.tags.get("imported_from") == self.source:
                self.client.delete_logged_model(model.model_id)
        return found

    def write_model(self, run: StoredRun, record: Record, file: Path, chosen: str) -> str:
        """Store the model of a run, and return its name."""
        self.changed = True
        tags = {"chosen": chosen, "imported_from": self.source}
        return log_model(self.client, run.run_id, self.experiment_id, record, file, tags)

    def delete_model(self, run: StoredRun) -> None:
        """Delete the model of a run, if it is stored."""
        if stored := self.models.pop(run.run_id, None):
            self.changed = True
            self.client.delete_logged_model(stored.model_id)

    def _delete(self, run: StoredRun) -> None:
        self.changed = True
        if run.key.kind == RUN:
            self.delete_model(run)
        self.client.delete_run(run.run_id)
