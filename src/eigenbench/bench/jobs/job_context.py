"""The common part of jobs that fit: their data, folders and processes, and the records that they write."""

from __future__ import annotations

import argparse
import json
import logging
import math
import platform
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from threadpoolctl import threadpool_info

from eigenbench.bench.components import MissingExtraError
from eigenbench.bench.jobs.job_spec import JobSpec, content_key
from eigenbench.bench.jobs.supervision import Report, Supervisor, failure
from eigenbench.bench.records.record import DatasetInfo, Environment, Record, write_record
from eigenbench.bench.records.runs import NO_CLASSIFIER, TRAINED_FILES, within_method
from eigenbench.bench.records.sealed_json import file_sums
from eigenbench.datasets.card import verify_prepared
from eigenbench.datasets.dataset import open_prepared
from eigenbench.datasets.splits import AnySplit

logger = logging.getLogger(__name__)

#: The packages whose versions a record has.
PACKAGES = ("eigenbench", "numpy", "scipy", "scikit-learn", "pandas", "skops", "snakemake", "mlflow")


@dataclass(frozen=True)
class JobContext:
    """The specification of one method for a job, its command line, and the supervisor of its fits.

    Folders of ``verified`` data are not read again; the methods of a job share the set.
    """

    spec: JobSpec
    options: argparse.Namespace
    supervisor: Supervisor
    verified: set[Path] = field(default_factory=set)

    @cached_property
    def datasets(self) -> dict[str, dict[str, Any]]:
        """The states of the datasets, with their cards; AlteredData if a file is not what its card says."""
        prepared = self.options.data_dir / "prepared"
        states = {name: json.loads((prepared / f"{name}.json").read_bytes()) for name in self.spec.datasets}
        for name, state in states.items():
            if state["status"] == "ok" and prepared / name not in self.verified:
                verify_prepared(prepared / name)
                self.verified.add(prepared / name)
        return states

    def open(self, seed: int, name: str | None = None) -> Any:
        """Open a prepared dataset, the job's unless another is named; the seed draws its rows."""
        spec, name = self.spec, name or self.spec.dataset
        dataset: Any = open_prepared(self.options.data_dir / "prepared" / name, split_seed=seed)
        if name != spec.dataset or (spec.train_rows is None and spec.classes is None):
            return dataset
        return dataset.smaller(seed, train_rows=spec.train_rows, classes=spec.classes)

    def folder(self, seed: int, classifier: str = NO_CLASSIFIER) -> Path:
        """Return the folder of a seed, or of one of its runs."""
        spec = self.spec
        method = self.options.results_dir / spec.suite / spec.experiment / spec.method
        return method / within_method(seed, classifier)

    def obstacle(self) -> Report | None:
        """Return why nothing can be fitted, if a dataset or package is not there; import it for all forks."""
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
    verified: set[Path] = set()
    return [JobContext(spec, options, supervisor, verified) for spec in specs]


def now() -> str:
    """Return the present time in UTC, in the format of records."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def finite_metrics(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return metrics as Python's numbers; raise a ValueError that names one that is not finite."""
    found = {name: float(value) for name, value in metrics.items()}
    for name, value in found.items():
        if not math.isfinite(value):
            raise ValueError(f"the metric {name!r} is {value}: a metric has to be a finite number")
    return found


def write_run_record(
    context: JobContext, classifier: str, seed: int, reports: list[Report], started: str
) -> None:
    """Write ``record.json`` of a run, with the outcome of the last of the ``reports`` of search and fit.

    Where there is no result, empty files take the places of model and predictions.
    """
    spec, final = context.spec, reports[-1]
    folder = context.folder(seed, classifier)
    state = context.datasets[spec.dataset]
    others = () if classifier == NO_CLASSIFIER else TRAINED_FILES[1:]
    if final["status"] != "ok":
        folder.mkdir(parents=True, exist_ok=True)
        for name in others:
            (folder / name).write_bytes(b"")
    fields: dict[str, Any] = spec.run(seed, classifier).identity | {
        "files": file_sums(folder, *others),
        "replaces": str(context.options.replaces.get(str(folder / "record.json"), "")),
        "deterministic": final["status"] == "ok" and _is_deterministic(spec, classifier),
        "status": final["status"],
        "failure": final.get("failure"),
        "dataset_info": _used_data(context, seed) if state["card"] else None,
        "peak_rss_mb": max((report.get("peak_rss_mb", 0.0) for report in reports), default=0.0) or None,
        "environment": describe_environment(
            context.supervisor.threads, context.options.code, context.supervisor.gemm_gflops
        ),
        "started": started,
        "finished": now(),
    }
    if search := _search(spec, reports, final.get("selected")):
        fields["search"] = search
    if any("search_seconds" in report for report in reports):
        fields["search_seconds"] = sum(report.get("search_seconds") or 0.0 for report in reports)
    if final["status"] == "ok":
        names = ("metrics", "curves", "exhibits", "confusion", "params", "dimension", "warnings")
        costs = ("fit_seconds", "train_seconds", "predict_seconds")
        fields |= {name: report[name] for report in reports for name in (*names, *costs) if name in report}
        if search and final.get("selected") is not None:
            score = search["candidates"][final["selected"]]["score"]
            fields["metrics"] = final["metrics"] | {f"validation_{search['metric']}": score}
        if "model" in final:
            path = str((folder / "model.skops").relative_to(context.options.results_dir))
            fields["model"] = final["model"] | fields["files"]["model.skops"] | {"path": path}
    write_record(folder / "record.json", Record.model_validate(fields))


def _is_deterministic(spec: JobSpec, classifier: str) -> bool:
    """Say whether the seed changes nothing: it draws no rows, and no search or component draws."""
    drawn = spec.split_drawn or spec.train_rows or spec.classes
    if classifier == NO_CLASSIFIER or drawn or spec.searches(classifier):
        return False
    return not any(spec.is_random(step) for step in (*spec.steps, spec.classifiers[classifier].step))


def _search(spec: JobSpec, reports: list[Report], selected: int | None) -> dict[str, Any] | None:
    candidates = [candidate for report in reports for candidate in report.get("candidates", ())]
    if not candidates or spec.validation is None:
        return None
    kept = [{name: item[name] for name in ("params", "status", "score")} for item in candidates]
    return {"metric": spec.validation.metric, "candidates": kept, "selected": selected}


def _used_data(context: JobContext, seed: int) -> DatasetInfo:
    """Return what a record says of the run's dataset, with the rows and classes that the run uses."""
    info = dataset_info(context.datasets[context.spec.dataset])
    if context.spec.train_rows is None and context.spec.classes is None:
        return info
    used = context.open(seed)
    shape = {"n_train": used.X_train.shape[0], "n_test": used.X_test.shape[0], "n_classes": len(used.classes)}
    return info.model_copy(update=shape)


def dataset_info(state: Report) -> DatasetInfo:
    """Return what records say of a dataset, from its state."""
    card = state["card"]
    split = card["split"]
    arrays = {name: record["sha256"] for name, record in card["arrays"].items()}
    return DatasetInfo(
        sha256=content_key([arrays, split], 64),
        split=str(TypeAdapter(AnySplit).validate_python(split)),
        source="; ".join(dict.fromkeys(source["source"] for source in card["sources"])),
        **{name: card[name] for name in ("name", "n_train", "n_test", "n_features", "n_classes", "licence")},
    )


def describe_environment(threads: int, code_hash: str, gemm_gflops: float | None = None) -> Environment:
    """Collect the environment of this process; the rate of products is measured elsewhere."""
    commit = _git("rev-parse", "HEAD")
    status = _git("status", "--porcelain", "--untracked-files=no")
    packages: dict[str, str] = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        cpu=_cpu_model(),
        threads=threads,
        gemm_gflops=gemm_gflops,
        packages=packages,
        blas=_blas(),
        git_commit=commit,
        git_dirty=None if status is None else bool(status),
        code_hash=code_hash,
    )


def _blas() -> str | None:
    """Name the BLAS libraries that this process has loaded, such as ``openblas 0.3.31 SkylakeX``."""
    names = {
        " ".join(str(found[key]) for key in ("internal_api", "version", "architecture") if found.get(key))
        for found in threadpool_info()
        if found["user_api"] == "blas"
    }
    return ", ".join(sorted(names)) or None


@cache
def _git(*arguments: str) -> str | None:
    folder = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@cache
def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
