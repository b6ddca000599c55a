"""Records where the workflow puts them, and the plan of a suite."""

from __future__ import annotations

from pathlib import Path

from eigenbench.bench.jobs.plan import SuitePlan, plan_suite
from eigenbench.bench.records.record import Record, write_record
from eigenbench.bench.suites.suite import Suite
from eigenbench.bench.suites.suite_file import catalogue_of


def write(results_dir: Path, record: Record) -> Path:
    method = results_dir / record.suite / record.experiment / record.method / f"seed-{record.seed}"
    path = method / record.classifier / "record.json"
    write_record(path, record)
    return path


def plan_of(suite: Suite) -> SuitePlan:
    return plan_suite(suite, catalogue_of(suite))
