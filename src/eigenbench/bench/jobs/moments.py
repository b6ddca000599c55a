"""Class moments of rows of a dataset, gathered in one pass, as a file."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from eigenbench.bench.jobs.job_context import JobContext
from eigenbench.bench.jobs.job_spec import RowSelection
from eigenbench.bench.jobs.supervision import Report
from eigenbench.bench.records.sealed_json import file_sums, read_sealed, write_sealed
from eigenbench.methods.linalg.partitions import Partitions
from eigenbench.methods.moments import ClassMoments

logger = logging.getLogger(__name__)


class MomentsError(RuntimeError):
    """The pass for the moments failed."""


def read_moments(path: Path) -> tuple[ClassMoments, float]:
    """Return moments and the seconds that the pass took.

    Raises
    ------
    MomentsError
        If the pass failed; the message has its reason.
    """
    report = read_sealed(path.with_suffix(".json"))
    if report["status"] != "ok":
        raise MomentsError(f"the moments of {path.stem} are missing: {report['failure']['message']}")
    return ClassMoments.load(path), report["seconds"]


def run(context: JobContext, seed: int) -> None:
    """Do the work of a job."""
    write_moments(context, context.options.output)


def write_moments(context: JobContext, path: Path) -> None:
    """Write moments and beside them the report of the pass; of a failed one, an empty file and its reason."""
    options = context.options
    rows = RowSelection.model_validate_json(options.rows)

    def gather() -> Report:
        X, y = context.rows(rows)
        started = time.perf_counter()
        moments = ClassMoments.of_partitions(X) if isinstance(X, Partitions) else ClassMoments.of(X, y)
        seconds = time.perf_counter() - started
        path.parent.mkdir(parents=True, exist_ok=True)
        moments.save(path)
        return {"seconds": seconds}

    logger.info("moments of %s, %s", context.spec.dataset, rows.label)
    report = context.obstacle() or context.supervisor.run("moments", gather)
    if report["status"] != "ok":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    report_path = path.with_suffix(".json")
    sums = file_sums(path.parent, path.name)
    write_sealed(report_path, report | {"files": sums, "replaces": context.replaced(report_path)})
