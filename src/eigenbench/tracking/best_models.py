"""Which models of a method and classifier are stored: that of its best seed, or, when asked for, all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from eigenbench.bench.records.record import Record
from eigenbench.tracking.checked_models import UnfitRecord, checked_model
from eigenbench.tracking.known import KnownRun
from eigenbench.tracking.logged_models import ASKED, BEST, log_model
from eigenbench.tracking.suite_import import SuiteImport

if TYPE_CHECKING:
    from mlflow.entities import LoggedModel

_PAGE = 100


class BestModels:
    """The stored models of a suite.

    Parameters
    ----------
    done : SuiteImport
        The import whose runs have them.
    """

    def __init__(self, done: SuiteImport):
        self.done = done

    @cached_property
    def _stored(self) -> dict[str, LoggedModel]:
        """The models by the run that made them."""
        found: dict[str, LoggedModel] = {}
        token = None
        while True:
            page = self.done.client.search_logged_models(
                [self.done.experiment_id], max_results=_PAGE, page_token=token
            )
            found |= {str(model.source_run_id): model for model in page if str(model.status) == "READY"}
            token = page.token
            if not token:
                return found

    def bring(self, best: Record | None, seeds: Sequence[tuple[KnownRun, Record]]) -> str | None:
        """Store what is wanted of the seeds of a method and classifier, and remove what was best before.

        The model of a run from another results folder is stored by the import of that folder.

        Parameters
        ----------
        best : Record or None
            The one whose model is wanted.
        seeds : sequence of (KnownRun, Record)
            All of them, with their records.

        Returns
        -------
        str or None
            The address of the best model, where it is stored.
        """
        chosen = None
        for run, record in seeds:
            if record is best or (self.done.settings.all_models and record.model):
                model_id = self._model_id(run, record, BEST if record is best else ASKED)
                chosen = model_id if record is best else chosen
        if chosen:
            for run, record in seeds:
                stored = self._stored.get(run.run_id)
                if record is not best and stored and stored.tags.get("chosen") == BEST:
                    self.done.client.delete_logged_model(stored.model_id)
        return f"models:/{chosen}" if chosen else None

    def _model_id(self, run: KnownRun, record: Record, chosen: str) -> str | None:
        if stored := self._stored.get(run.run_id):
            return str(stored.model_id)
        path = self.done.paths.get(run.record_sha256 or "")
        if path is None or record.model is None:
            return None
        try:
            file = checked_model(path, record.model, self.done.settings.results_dir)
        except UnfitRecord as error:
            self.done.summary.fail(path, error)
            return None
        return log_model(self.done.client, run.run_id, self.done.experiment_id, record, file, chosen)
