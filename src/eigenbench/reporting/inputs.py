"""Inputs of a report: suites with their plans, and the current record of each run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from eigenbench.bench.jobs.plan import SuitePlan, load_plan
from eigenbench.bench.jobs.shared_jobs import current_code
from eigenbench.bench.records.current import current_record
from eigenbench.bench.records.record import Record
from eigenbench.bench.records.sealed_json import DamagedFileError
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite import Suite
from eigenbench.bench.suites.suite_file import suite_files
from eigenbench.reporting.replicates import Groups, group_runs

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReportInputs:
    """Plans of suites with their files, the current record of each run, and errors of what is unreadable.

    Without ``results_dir`` statistics rest on the records alone, and no page links to them.
    """

    plans: list[SuitePlan]
    suite_paths: dict[str, Path]
    records: list[Record]
    results_dir: Path | None = None
    unreadable: Sequence[str] = ()

    @property
    def suites(self) -> list[Suite]:
        """The suites."""
        return [plan.suite for plan in self.plans]

    @cached_property
    def groups(self) -> Groups:
        """The records by experiment, method and classifier."""
        return group_runs(self.plans, self.records, results_dir=self.results_dir)


def read_inputs(
    suite_paths: Sequence[Path], results_dir: Path, *, all_suites_in: Path | None = None, warn: bool = False
) -> ReportInputs:
    """Read suites, and the records of the runs that they ask for with the settings that they have now.

    A record that cannot be read, or whose predictions are damaged, is reported, not fatal. Each further suite
    of ``all_suites_in`` that has records is included. ``warn`` logs what cannot be read, and how many records
    were made by other code than is installed. Raises `SuiteError` if a file of ``suite_paths`` is not a valid
    suite.
    """
    plans = {path: load_plan(path) for path in suite_paths}
    unreadable: list[str] = []
    known = {plan.suite.name for plan in plans.values()}
    for path in suite_files(all_suites_in) if all_suites_in else ():
        if path.stem not in known and any((results_dir / path.stem).glob("**/record.json")):
            try:
                plans[path] = load_plan(path)
            except SuiteError as error:
                unreadable.append(str(error))
    records = []
    for run in (run for plan in plans.values() for run in plan.runs):
        try:
            if record := current_record(run, results_dir, "predictions.npz"):
                records.append(record)
        except DamagedFileError as error:
            unreadable.append(" ".join(str(error).split()))
    if warn:
        for line in unreadable:
            logger.warning(f"left out: {line}")
        for plan in plans.values():
            _warn_of_older_code(plan, records)
    paths = {plan.suite.name: path for path, plan in plans.items()}
    return ReportInputs(list(plans.values()), paths, records, results_dir, unreadable)


def _warn_of_older_code(plan: SuitePlan, records: Iterable[Record]) -> None:
    codes, name = current_code(plan), plan.suite.name
    made = [(codes[one.run_key], one.environment) for one in records if one.suite == name and one.environment]
    if older := sum(environment.code_hash not in code for code, environment in made):
        logger.warning(
            f"{name}: {older} of {len(made)} records were made by older code than is installed; run "
            f"`snakemake {name}` to make them again"
        )
