"""The common part of all jobs that fit: the data they read, their folders, and who runs their fits."""

from __future__ import annotations

import argparse
import json
import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from eigenbench.bench.components import MissingExtraError
from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.jobs.supervision import Report, Supervisor, failure
from eigenbench.bench.records.runs import NO_CLASSIFIER, within_method
from eigenbench.datasets.card import verify_prepared
from eigenbench.datasets.dataset import open_prepared

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobContext:
    """The specification of one method for a job, its command line, and the supervisor of its fits."""

    spec: JobSpec
    options: argparse.Namespace
    supervisor: Supervisor

    @cached_property
    def datasets(self) -> dict[str, dict[str, Any]]:
        """The states of the datasets: whether they are there, and their cards.

        Raises AlteredData if a prepared file is not what its card says.
        """
        prepared = self.options.data_dir / "prepared"
        states = {name: json.loads((prepared / f"{name}.json").read_bytes()) for name in self.spec.datasets}
        for name, state in states.items():
            if state["status"] == "ok":
                verify_prepared(prepared / name)
        return states

    def open(self, seed: int, name: str | None = None) -> Any:
        """Open a prepared dataset, the job's unless another is named; the seed draws its rows."""
        name = name or self.spec.dataset
        dataset = open_prepared(self.options.data_dir / "prepared" / name, split_seed=seed)
        return self.spec.smaller(dataset, seed) if name == self.spec.dataset else dataset

    def folder(self, seed: int, classifier: str = NO_CLASSIFIER) -> Path:
        """Return the folder of a seed, or of one of its runs."""
        spec = self.spec
        method = self.options.results_dir / spec.suite / spec.experiment / spec.method
        return method / within_method(seed, classifier)

    def replaced(self, path: Path) -> str:
        """Return what a file replaces; see `eigenbench.bench.jobs.outputs`."""
        return str(self.options.replaces.get(str(path), ""))

    def obstacle(self) -> Report | None:
        """Return why nothing can be fitted: a dataset or a package that is not there. None if all is there.

        The libraries are imported on the way, so that all fits of the job, which are forked, have them.
        """
        for state in self.datasets.values():
            if state["status"] != "ok":
                return {"status": state["status"], "failure": state["failure"]}
        try:
            for name in self.spec.components:
                self.spec.load(name)
        except MissingExtraError as error:
            reason = failure("import", type(error).__name__, str(error), self.options.log)
            return {"status": "not_run", "failure": reason}
        return None


def contexts_of(options: argparse.Namespace) -> list[JobContext]:
    """Return the context of each method of a job, by its command line."""
    specs = [JobSpec.model_validate_json(text) for text in options.job]
    # The methods of a job are those of one experiment, which has the time limit.
    supervisor = Supervisor(
        options.threads, options.log, options.attempts_left == 0, specs[0].time_limit, options.workflow
    )
    return [JobContext(spec, options, supervisor) for spec in specs]
