"""Compare the records of a suite with the reference, run by run and metric by metric."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.records.record import Environment, Record, RecordError, read_record
from eigenbench.bench.records.runs import Run
from eigenbench.bench.suites.suite import Suite
from eigenbench.bench.suites.suite_file import catalogue_of
from eigenbench.reproduction.causes import Origin, causes, known_origins, run_name
from eigenbench.reproduction.noise import ROUNDING, is_time_or_memory, noise_of
from eigenbench.reproduction.receipt import ComparedRun, ComparedValue, Receipt, RunVerdict, ValueVerdict
from eigenbench.reproduction.reference import Reference, ReferenceRun


def compare_with_reference(
    suite: Suite, results_dir: Path, reference: Reference, receipts: Iterable[Receipt] = ()
) -> Receipt:
    """Compare every run that a suite asks for with the reference run of its name.

    Parameters
    ----------
    suite : Suite
        The suite.
    results_dir : Path
        The folder that holds the suite's folder of records.
    reference : Reference
        Of that suite.
    receipts : iterable of Receipt, optional
        Of other machines; where they found a run identical, its environment is that of the reference.

    Returns
    -------
    Receipt
        With a `ComparedRun` for each run of the suite.

    Notes
    -----
    Values are compared by ``eigenbench.reproduction.noise``, each at 95 %: of values that differ by chance as
    much as two seeds do, one in twenty is called different. A metric whose noise nothing tells decides only
    where no other metric does, and one that the reference lacks is not looked at.
    """
    origins = known_origins(receipts, reference.digest)
    environments: list[Environment] = []
    runs = []
    for run in plan_suite(suite, catalogue_of(suite)).runs:
        found = _record_of(run, results_dir)
        if isinstance(found, str):
            runs.append(_compared(run, "missing", found))
            continue
        if found.environment is not None and found.environment not in environments:
            environments.append(found.environment)
        validation = suite.experiments[run.experiment].validation
        held_out = round(validation.fraction * found.dataset_info.n_train) if found.dataset_info else None
        runs.append(
            _compare_run(
                run,
                found,
                reference,
                origins.get(run_name(found), []),
                index=environments.index(found.environment) if found.environment else None,
                validation_rows=held_out,
                probability=_probability((results_dir / run.record).with_name("predictions.npz")),
            )
        )
    return Receipt(
        suite=suite.name,
        reference=reference.digest,
        eigenbench=version("eigenbench"),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        environments=environments,
        runs=runs,
    )


def _record_of(run: Run, results_dir: Path) -> Record | str:
    """Return the record of a run, or why there is none that counts."""
    path = results_dir / run.record
    if not path.exists():
        return "no record"
    try:
        record = read_record(path)
    except RecordError as error:
        return " ".join(str(error).split())
    return record if record.run_key == run.key else "its record is of other settings than the suite has now"


def _probability(path: Path) -> NDArray[Any] | None:
    """Return the stored probability of each test row's class, where a run keeps it and it can be read."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return stored["probability"]
    except (OSError, KeyError, ValueError, EOFError):
        return None


def _compared(run: Run, verdict: RunVerdict, why: str = "", **fields: Any) -> ComparedRun:
    names = ("experiment", "dataset", "method", "classifier", "seed")
    shared = {name: getattr(run, name) for name in names}
    return ComparedRun(**shared, run_key=run.key, verdict=verdict, why=why, **fields)


def _compare_run(
    run: Run,
    record: Record,
    reference: Reference,
    origins: list[Origin],
    *,
    index: int | None,
    validation_rows: int | None,
    probability: NDArray[Any] | None,
) -> ComparedRun:
    name = (run.dataset, run.method, run.classifier, str(run.seed))
    there = reference.find(name, run.key, set(record.metrics))
    fields: dict[str, Any] = {"environment": index}
    if record.dataset_info:
        fields["dataset_sha256"] = record.dataset_info.sha256
    if there is None:
        return _compared(run, "not compared", "the reference has no such run", **fields)
    if record.status != "ok" or there.status != "ok":
        if record.status == there.status:
            return _compared(run, "not compared", f"{record.status.replace('_', ' ')} there too", **fields)
        if record.status == "not_run":
            return _compared(run, "not run", _why_not_run(record), **fields)
        why = f"{record.status.replace('_', ' ')} here, {there.status.replace('_', ' ')} in the reference"
        return _compared(run, "different", why, causes=causes(record, there, origins), **fields)
    siblings = reference.seeds_of(there)
    values = {
        metric: _compare_value(metric, there, siblings, record, validation_rows, probability)
        for metric in sorted(there.metrics)
    }
    verdict, why = _run_verdict(values)
    moved = {metric: value for metric, value in values.items() if value.verdict != "identical"}
    fields |= {"n_identical": len(values) - len(moved), "values": moved}
    if verdict not in ("identical", "not compared"):
        fields["causes"] = causes(record, there, origins)
    return _compared(run, verdict, why, **fields)


def _why_not_run(record: Record) -> str:
    """Return why a run was not made; of a package that is not installed only what methods have in common."""
    message = record.failure.message if record.failure else "its record does not say why"
    remedy = re.search(r"pip install .*", message)
    return f"a package is not installed: {remedy[0]}" if remedy else message


def _compare_value(
    metric: str,
    there: ReferenceRun,
    siblings: list[ReferenceRun],
    record: Record,
    validation_rows: int | None,
    probability: NDArray[Any] | None,
) -> ComparedValue:
    reference, here = there.metrics[metric], record.metrics.get(metric)
    shared: dict[str, Any] = {"reference": reference, "here": here}
    if is_time_or_memory(metric):
        return ComparedValue(**shared, verdict="time or memory")
    if here is None:
        return ComparedValue(**shared, verdict="different")
    if reference == here:
        return ComparedValue(**shared, verdict="identical")
    gap, rounding = abs(here - reference), ROUNDING * abs(reference)
    if gap <= rounding:
        return ComparedValue(**shared, verdict="within noise", noise=rounding, noise_of="rounding")
    noise = noise_of(
        metric,
        reference,
        here,
        by_seed=[other.metrics[metric] for other in siblings],
        record=record,
        validation_rows=validation_rows,
        probability=probability,
    )
    if noise is None:
        return ComparedValue(**shared, verdict="noise unknown")
    verdict: ValueVerdict = "within noise" if gap <= noise.half_width else "different"
    return ComparedValue(**shared, verdict=verdict, noise=noise.half_width, noise_of=noise.source)


def _run_verdict(values: dict[str, ComparedValue]) -> tuple[RunVerdict, str]:
    by_verdict: dict[str, list[str]] = {}
    for metric, value in values.items():
        by_verdict.setdefault(value.verdict, []).append(metric)
    by_verdict.pop("time or memory", None)
    if not by_verdict:
        return "not compared", "it measures nothing but time and memory"
    if different := by_verdict.get("different"):
        return "different", f"beyond noise: {', '.join(different)}"
    unknown = by_verdict.get("noise unknown", [])
    if "within noise" in by_verdict:
        return "within noise", f"noise not known: {', '.join(unknown)}" if unknown else ""
    if unknown:
        return "different", f"noise not known: {', '.join(unknown)}"
    return "identical", ""
