"""Put what the fits of a run reported together into its record."""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from eigenbench.bench.jobs.environment import describe_environment
from eigenbench.bench.jobs.job_context import JobContext
from eigenbench.bench.jobs.job_spec import JobSpec, content_key
from eigenbench.bench.jobs.supervision import Report
from eigenbench.bench.records.record import DatasetInfo, Record, write_record
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.datasets.splits import AnySplit


class RunClock:
    """When a run began."""

    def __init__(self) -> None:
        self.started = _now()
        self.counter = time.perf_counter()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def write_run_record(
    context: JobContext, classifier: str, seed: int, reports: list[Report], clock: RunClock
) -> None:
    """Write ``record.json`` of a run.

    Parameters
    ----------
    context : JobContext
        The job.
    classifier : str
        Its name in the suite, or that of none.
    seed : int
        The seed.
    reports : list of dict
        Of the embedding, the search and the last fit, which has the outcome.
    clock : RunClock
        When the run began.
    """
    spec, final = context.spec, reports[-1]
    folder = context.folder(seed, classifier)
    state = context.datasets[spec.dataset]
    fields: dict[str, Any] = {
        "run_key": spec.key(seed, classifier),
        "suite": spec.suite,
        "experiment": spec.experiment,
        "dataset": spec.dataset,
        "method": spec.method,
        "classifier": classifier,
        "seed": seed,
        "deterministic": final["status"] == "ok" and _is_deterministic(spec, classifier),
        "status": final["status"],
        "failure": final.get("failure"),
        "dataset_info": _dataset_info(state) if state["card"] else None,
        "peak_rss_mb": max((report.get("peak_rss_mb", 0.0) for report in reports), default=0.0) or None,
        "environment": describe_environment(
            context.supervisor.threads, context.options.code, context.supervisor.gemm_gflops
        ),
        "started": clock.started,
        "finished": _now(),
    }
    if search := _search(spec, reports, final.get("selected")):
        fields["search"] = search
    if final["status"] == "ok":
        names = ("metrics", "curves", "exhibits", "confusion", "params", "dimension")
        costs = ("fit_seconds", "train_seconds", "predict_seconds")
        fields |= {name: report[name] for report in reports for name in (*names, *costs) if name in report}
        if search and final.get("selected") is not None:
            score = search["candidates"][final["selected"]]["score"]
            fields["metrics"] = final["metrics"] | {f"validation_{search['metric']}": score}
        if "model" in final:
            fields["model"] = final["model"] | _file(folder / "model.skops", context.options.results_dir)
    write_record(folder / "record.json", Record.model_validate(fields))


def _is_deterministic(spec: JobSpec, classifier: str) -> bool:
    """Say whether the seed changes nothing: no split, search or component draws."""
    if classifier == NO_CLASSIFIER or spec.split_drawn or spec.searches(classifier):
        return False
    return not any(spec.draws(step) for step in (*spec.steps, spec.classifiers[classifier].step))


def _search(spec: JobSpec, reports: list[Report], selected: int | None) -> dict[str, Any] | None:
    candidates = [candidate for report in reports for candidate in report.get("candidates", ())]
    if not candidates or spec.validation is None:
        return None
    kept = [{name: item[name] for name in ("params", "status", "score")} for item in candidates]
    return {"metric": spec.validation.metric, "candidates": kept, "selected": selected}


def _file(path: Path, root: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"path": str(path.relative_to(root)), "sha256": digest, "bytes": path.stat().st_size}


def _dataset_info(state: Report) -> DatasetInfo:
    card = state["card"]
    split = card["split"]
    arrays = {name: record["sha256"] for name, record in card["arrays"].items()}
    return DatasetInfo(
        sha256=content_key([arrays, split], 64),
        split=str(TypeAdapter(AnySplit).validate_python(split)),
        source="; ".join(dict.fromkeys(source["source"] for source in card["sources"])),
        **{name: card[name] for name in ("name", "n_train", "n_test", "n_features", "n_classes", "licence")},
    )
