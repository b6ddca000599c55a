"""Compare the records of a suite with the reference, run by run and metric by metric."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.current import current_record
from eigenbench.bench.records.record import Environment, Record
from eigenbench.bench.records.runs import Run
from eigenbench.bench.records.sealed_json import DamagedFileError
from eigenbench.reproduction.receipt import ComparedRuns, ComparedValue, NoiseSource, Receipt, RunVerdict
from eigenbench.reproduction.reference import Reference, ReferenceRun, ReproductionError

LEVEL = 0.95

#: Differences of floating point sums in another order, as shares of the value.
ROUNDING = 1e-6

#: The largest difference of two runs that noise explains, at 95 %, and what the noise is of.
Noise = tuple[float, NoiseSource]

_COUNTS = ("test_errors", "errors")
_SHARES = ("test_error", "error", "validation_error")


def compare_with_reference(
    plan: SuitePlan, results_dir: Path, reference: Reference, receipts: Iterable[Receipt] = ()
) -> Receipt:
    """Compare every run that a suite asks for with the reference run of its name.

    Where ``receipts`` of other machines found a run identical, its environment is that of the reference.
    Values are compared by `noise_of`, each at 95 %: of values that differ by chance as
    much as two seeds do, one in twenty is called different. A metric whose noise nothing tells is passed over
    only beside one that moved within the noise of seeds or rows, and one that the reference lacks is not
    looked at. Raises `ReproductionError` if no run has a record.
    """
    found = reference.find(plan.runs)
    seeds: dict[tuple[str, ...], list[ReferenceRun]] = {}
    for run, there in zip(plan.runs, found, strict=True):
        if there is not None:
            seeds.setdefault((run.experiment, run.method, run.classifier), []).append(there)
    origins = _known_origins(receipts, reference.digest)
    environments: list[Environment] = []
    runs = []
    for run, there in zip(plan.runs, found, strict=True):
        method = (run.experiment, run.method, run.classifier)
        record = _record_of(run, results_dir)
        if isinstance(record, str):
            runs.append(_compared(run, "missing", record))
            continue
        environment = record.environment and record.environment.model_copy(update={"gemm_gflops": None})
        if environment is not None and environment not in environments:
            environments.append(environment)
        noise = partial(
            noise_of,
            seeds=seeds.get(method, []),
            record=record,
            held_out=plan.suite.experiments[run.experiment].validation.fraction,
            predictions=(results_dir / run.record).with_name("predictions.npz"),
        )
        compared = _compare_run(run, record, there, origins.get((*method, run.seed), []), noise)
        index = environments.index(environment) if environment else None
        sha256 = record.dataset_info.sha256 if record.dataset_info else None
        runs.append(compared.model_copy(update={"environment": index, "dataset_sha256": sha256}))
    if not environments:
        name = plan.suite.name
        raise ReproductionError(
            f"no record of {name} in {results_dir}: run snakemake {name}, or name --results-dir"
        )
    return Receipt(
        suite=plan.suite.name,
        reference=reference.digest,
        eigenbench=version("eigenbench"),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        environments=environments,
        runs=_by_outcome(runs),
    )


def _by_outcome(runs: Iterable[ComparedRuns]) -> list[ComparedRuns]:
    """Join the runs that differ only in their seed."""
    found: dict[str, ComparedRuns] = {}
    for run in runs:
        joined = found.setdefault(run.model_dump_json(exclude={"seeds"}), run)
        if joined is not run:
            joined.seeds.extend(run.seeds)
    return list(found.values())


def _record_of(run: Run, results_dir: Path) -> Record | str:
    """Return the record of a run, or why there is none that counts."""
    try:
        record = current_record(run, results_dir, "predictions.npz")
    except DamagedFileError as error:
        return " ".join(str(error).split())
    there = (results_dir / run.record).exists()
    return record or ("its record was made with other settings" if there else "no record")


def _stored(path: Path, name: str) -> NDArray[Any] | None:
    """Return an array of the test rows, such as the probability of their class, where it can be read."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return stored[name].astype(np.float64)
    except (OSError, KeyError, ValueError, EOFError):
        return None


def _compared(run: Run, verdict: RunVerdict, why: str = "", **fields: Any) -> ComparedRuns:
    shared = {name: getattr(run, name) for name in ("experiment", "dataset", "method", "classifier")}
    return ComparedRuns(**shared, seeds=[run.seed], verdict=verdict, why=why, **fields)


def _compare_run(
    run: Run,
    record: Record,
    there: ReferenceRun | None,
    origins: list[_Origin],
    noise: Callable[..., Noise | None],
) -> ComparedRuns:
    if there is None:
        return _compared(run, "not compared", "the reference has no such run")
    if record.status != "ok" or there.status != "ok":
        status, other = (one.replace("_", " ") for one in (record.status, there.status))
        if status == other:
            return _compared(run, "not compared", f"{status} in both")
        if record.status == "not_run":
            return _compared(run, "not run", _why_not_run(record))
        causes = _causes(record, there, origins)
        return _compared(run, "different", f"{status} here, {other} in the reference", causes=causes)
    n_identical, n_rounded, values = 0, 0, {}
    for metric, reference in sorted(there.metrics.items()):
        if is_time_or_memory(metric):
            continue
        here = record.metrics.get(metric)
        if here == reference:
            n_identical += 1
        elif here is not None and abs(here - reference) <= ROUNDING * abs(reference):
            n_rounded += 1
        else:
            values[metric] = _compare_value(metric, reference, here, noise)
    verdict, why = _run_verdict(n_identical, n_rounded, values)
    causes = [] if verdict in ("identical", "not compared") else _causes(record, there, origins)
    counts = {"n_identical": n_identical, "n_rounded": n_rounded}
    return _compared(run, verdict, why, **counts, values=values, causes=causes)


def _why_not_run(record: Record) -> str:
    """Return why a run was not made; of a package that is not installed only what methods have in common."""
    message = record.failure.message if record.failure else "its record gives no reason"
    remedy = re.search(r"pip install .*", message)
    return f"a package is not installed: {remedy[0]}" if remedy else message


def _compare_value(
    metric: str, reference: float, here: float | None, noise: Callable[..., Noise | None]
) -> ComparedValue:
    compared = partial(ComparedValue, reference=reference, here=here)
    if here is None:
        return compared(verdict="different")
    found = noise(metric, reference, here)
    if found is None:
        return compared(verdict="noise unknown")
    half_width, source = found
    is_noise = abs(here - reference) <= half_width
    return compared(verdict="within noise" if is_noise else "different", noise=half_width, noise_of=source)


def _run_verdict(
    n_identical: int, n_rounded: int, values: dict[str, ComparedValue]
) -> tuple[RunVerdict, str]:
    """Return the verdict on a run and its reason; ``values`` differ by more than rounding."""
    if not values:
        if n_rounded or n_identical:
            return "within noise" if n_rounded else "identical", ""
        return "not compared", "measures only time and memory"
    by_verdict: dict[str, list[str]] = {}
    for metric, value in values.items():
        by_verdict.setdefault(value.verdict, []).append(metric)
    if different := by_verdict.get("different"):
        return "different", f"beyond noise: {', '.join(different)}"
    if unknown := by_verdict.get("noise unknown"):
        is_known = "within noise" in by_verdict
        return "within noise" if is_known else "different", f"noise not known: {', '.join(unknown)}"
    return "within noise", ""


#: Environment and data of a run with exactly the values of the reference.
_Origin = tuple[Environment, str | None]
#: Experiment, method, classifier and seed.
_SeedOfMethod = tuple[str, str, str, int]


def _known_origins(receipts: Iterable[Receipt], reference: str) -> dict[_SeedOfMethod, list[_Origin]]:
    """Collect from receipts where each run gave identical values: results hold no environment themselves."""
    found: dict[_SeedOfMethod, list[_Origin]] = {}
    for receipt in receipts:
        for run in receipt.runs if receipt.reference == reference else ():
            if run.verdict == "identical" and run.environment is not None:
                origin = (receipt.environments[run.environment], run.dataset_sha256)
                for seed in run.seeds:
                    found.setdefault((run.experiment, run.method, run.classifier, seed), []).append(origin)
    return found


def _causes(record: Record, reference: ReferenceRun, origins: Iterable[_Origin]) -> list[str]:
    """Name what differs from the reference: settings, data, code, versions, BLAS, processor, threads.

    Of several places where the run was identical, the one with the fewest differences counts.
    """
    settings = []
    if record.run_key != reference.run_key:
        settings = [f"settings: run key {record.run_key}, {reference.run_key} in the reference"]
    compared = [_differences(record, origin) for origin in origins]
    return settings + min(compared, key=len, default=["the environment of the reference is not recorded"])


def _differences(record: Record, origin: _Origin) -> list[str]:
    data = record.dataset_info.sha256 if record.dataset_info else None
    environment, its_data = origin
    here, there = {"data": data}, {"data": its_data}
    if record.environment is not None:
        here |= _properties(record.environment)
        there |= _properties(environment)
    names = [name for name in dict.fromkeys([*here, *there]) if here.get(name) != there.get(name)]
    return [f"{name}: {_short(here.get(name))}, {_short(there.get(name))} in the reference" for name in names]


def _properties(environment: Environment) -> dict[str, Any]:
    return {
        "code": environment.code_hash,
        "Python": environment.python,
        **dict(sorted(environment.packages.items())),
        "BLAS": environment.blas,
        "processor": environment.cpu,
        "platform": environment.platform,
        "threads": environment.threads,
    }


def _short(value: object) -> str:
    """Write a value; of a digest the first digits."""
    text = "unknown" if value is None else str(value)
    return text[:16] if len(text) == 64 else text


def is_time_or_memory(metric: str) -> bool:
    """Return whether a metric says how long something took or how much memory: no two runs agree.

    Examples
    --------
    >>> [is_time_or_memory(name) for name in ("fit_seconds_at_512", "seconds_at_512", "test_error")]
    [True, True, False]
    """
    stem = f"_{metric.partition('_at_')[0]}"
    return stem.endswith(("_seconds", "_per_second", "_mb", "gemm_ratio", "gemm_cosine_ratio"))


def noise_of(
    metric: str,
    reference: float,
    here: float,
    *,
    seeds: Sequence[ReferenceRun],
    record: Record,
    held_out: float,
    predictions: Path,
) -> Noise | None:
    """Return the larger of the noise of seeds and that of rows; None where nothing tells how large it is.

    The noise of seeds is that of the difference of two draws from a normal distribution with the standard
    deviation s of the reference's seeds, ``t √2 s``, with the quantile of Student's t. The noise of rows is
    that of two independent test sets, ``z √2 σ``, where σ is the standard error of the mean over the rows:
    for error rates and counts from the pooled rate, for balanced errors from the confusion matrix of the
    record, for the log loss and the Brier score from stored values; a row's Brier score bounds the square of
    its gap in the calibration error. Runs that share their test rows differ by less, so this is the widest
    difference that can be called noise.

    ``seeds`` are the reference runs of one experiment, method and classifier, and ``held_out`` is the share
    of the training rows for validation.
    """
    found: list[Noise] = []
    by_seed = [run.metrics[metric] for run in seeds if metric in run.metrics]
    if len(by_seed) > 1:
        quantile = float(stats.t.ppf((1 + LEVEL) / 2, len(by_seed) - 1))
        found.append((quantile * math.sqrt(2) * stdev(by_seed), "seeds"))
    error = _error_of_rows(metric, (reference + here) / 2, record, held_out, predictions)
    if error is not None:
        found.append((float(stats.norm.ppf((1 + LEVEL) / 2)) * math.sqrt(2) * error, "rows"))
    return max(found, default=None)


def _error_of_rows(
    metric: str, mean: float, record: Record, held_out: float, predictions: Path
) -> float | None:
    """Return the standard error of a metric over the test rows, or over the rows held out for validation."""
    if metric in (*_COUNTS, *_SHARES) and (info := record.dataset_info):
        n_rows = max(1, round(held_out * info.n_train)) if metric == "validation_error" else info.n_test
        unit = n_rows if metric in _COUNTS else 1
        rate = min(1.0, max(0.0, mean / unit))
        return unit * math.sqrt(rate * (1 - rate) / n_rows)
    if metric == "test_balanced_error" and record.confusion:
        return _balanced_standard_error(np.array(record.confusion.matrix))
    losses = _stored(predictions, "brier") if metric in ("test_brier", "test_calibration_error") else None
    if losses is not None and metric == "test_calibration_error":
        return math.sqrt(losses.mean() / losses.size)
    if metric == "test_log_loss" and (probability := _stored(predictions, "probability")) is not None:
        losses = -np.log(np.maximum(probability, np.finfo(np.float64).eps))
    return None if losses is None or losses.size < 2 else float(losses.std(ddof=1) / math.sqrt(losses.size))


def _balanced_standard_error(confusion: NDArray[np.int64]) -> float:
    """Return the standard error of the mean of the class error over the classes that occur."""
    rows = confusion.sum(axis=1)
    rates = 1 - np.diagonal(confusion)[rows > 0] / rows[rows > 0]
    return float(np.sqrt(np.sum(rates * (1 - rates) / rows[rows > 0])) / rates.size)
