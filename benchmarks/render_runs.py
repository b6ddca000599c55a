"""Time and size of the report of very many runs.

    python benchmarks/render_runs.py [--tables 10] [--folder DIR] [--profile FILE]

Takes tables of the suite `comparison` with the errors and times of its reference results, 210 runs each.
MADE UP are the predictions, which have just as many errors, mostly in rows that are hard for others too;
confusion matrices; and searches, of 24 candidates. With `--folder`, records and report stay there.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from eigenbench.bench.jobs.job_context import describe_environment
from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.records.record import Confusion, DatasetInfo, Record, Search, write_record
from eigenbench.bench.records.runs import Run
from eigenbench.bench.suites.suite_file import catalogue_of, load_suite
from eigenbench.datasets.catalogue import CatalogueEntry
from eigenbench.reproduction.reference import default_reference_folder

SUITE = "comparison"
N_CANDIDATES = 24
TIMES = ("fit_seconds", "train_seconds", "predict_seconds", "peak_rss_mb")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="where records and report stay")
    parser.add_argument("--profile", type=Path, help="where cProfile's statistics go; times are longer then")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        suite = write_suite(folder, options.tables)
        n_runs = sum(1 for _ in write_runs(suite, folder / "results"))
        render(suite, folder, options.profile)
        size = (folder / "reports/index.html").stat().st_size
        print(f"{n_runs} runs, page of {size / 1e6:.1f} MB")


def write_suite(folder: Path, n_tables: int) -> Path:
    """Write the suite with its first tables only."""
    text = (default_reference_folder() / SUITE / f"{SUITE}.yaml").read_text()
    content = yaml.safe_load(text)
    tables = [
        name
        for name, spec in content["experiments"].items()
        if "LGBMClassifier" in spec.get("classifiers", ())
    ]
    content["experiments"] = {name: content["experiments"][name] for name in tables[:n_tables]}
    path = folder / "suites" / f"{SUITE}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def write_runs(suite_path: Path, results: Path) -> Iterator[Run]:
    """Write record and predictions of each run that the reference has, and yield the run."""
    suite = load_suite(suite_path)
    catalogue = catalogue_of(suite)
    reference = reference_rows()
    environment = describe_environment(1, "0" * 16, 100.0)
    for run in plan_suite(suite, catalogue).runs:
        if run.key not in reference:
            continue
        entry = catalogue.entry(run.dataset)
        found, confusion = made_up_predictions(run, entry, reference[run.key]["test_error"], results)
        record = Record(
            **run.identity,
            **{name: reference[run.key][name] for name in TIMES},
            deterministic=False,
            status="ok",
            metrics=found,
            confusion=confusion,
            search=made_up_search(run),
            params={
                "classifier__C": 0.1,
                "embedding__n_components": 20,
                "steps": f"{run.method} → classifier",
            },
            dimension=10 + 5 * len(run.method),
            dataset_info=dataset_info(run.dataset, entry),
            environment=environment,
            started="2026-01-01T00:00:00.000+00:00",
            finished="2026-01-01T00:00:01.000+00:00",
        )
        write_record(results / run.record, record)
        yield run


def reference_rows() -> dict[str, dict[str, float]]:
    """Return errors and times of each run of the reference, by key."""
    rows: dict[str, dict[str, float]] = {}
    for path in (default_reference_folder() / SUITE).glob("results_*.csv"):
        with path.open() as stream:
            for row in csv.DictReader(stream):
                if row["metric"] == "test_error":
                    times = {name: float(row[name] or "nan") for name in TIMES}
                    rows[row["run_key"]] = {"test_error": float(row["value"]), **times}
    return rows


def made_up_predictions(
    run: Run, entry: CatalogueEntry, error: float, results: Path
) -> tuple[dict[str, float], Confusion]:
    """Write predictions with a share of errors; return their metrics and confusion matrix."""
    n_all, n_classes = sum(entry.expect.rows.values()), entry.expect.classes
    n_test = entry.n_test or n_all // 2
    of_rows = np.random.default_rng(0)
    hardness, labels = of_rows.normal(size=n_all), of_rows.integers(n_classes, size=n_all)
    rows = np.random.default_rng(run.seed).permutation(n_all)[:n_test]
    own = np.random.default_rng(int(run.key, 16))
    order = np.argsort(-(hardness[rows] + 0.7 * own.normal(size=n_test)))
    truth = labels[rows]
    predicted = truth.copy()
    wrong = order[: round(error * n_test)]
    predicted[wrong] = (truth[wrong] + own.integers(1, n_classes, size=len(wrong))) % n_classes
    probability = np.where(predicted == truth, 0.9, 0.1).astype(np.float32)
    folder = results / run.folder
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {
        "truth": truth,
        "predicted": predicted,
        "probability": probability,
        "rows": rows,
    }
    np.savez_compressed(folder / "predictions.npz", allow_pickle=False, **arrays)
    counts = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(counts, (truth, predicted), 1)
    metrics = {
        "test_error": len(wrong) / n_test,
        "test_errors": float(len(wrong)),
        "test_balanced_error": float(1 - np.mean(np.diag(counts) / counts.sum(axis=1))),
        "test_log_loss": float(-np.log(probability.astype(np.float64)).mean()),
    }
    return metrics, Confusion(labels=[str(label) for label in range(n_classes)], matrix=counts.tolist())


def made_up_search(run: Run) -> Search:
    """Return a search whose candidates differ in two parameters."""
    scores = np.random.default_rng(int(run.key, 16)).uniform(size=N_CANDIDATES)
    candidates = [
        {
            "params": {"classifier__C": 10.0 ** (place % 4), "n_components": place // 4},
            "status": "ok",
            "score": score,
        }
        for place, score in enumerate(scores)
    ]
    return Search.model_validate(
        {"metric": "error", "candidates": candidates, "selected": int(np.argmin(scores))}
    )


def dataset_info(name: str, entry: CatalogueEntry) -> DatasetInfo:
    n_test = entry.n_test or 0
    return DatasetInfo(
        name=name,
        sha256="0" * 64,
        n_train=entry.rows_of_a_run - n_test,
        n_test=n_test,
        n_features=entry.expect.features,
        n_classes=entry.expect.classes,
        split=str(entry.split),
        source="made up",
        licence=entry.licence,
    )


def render(suite: Path, folder: Path, profile: Path | None) -> None:
    """Do what the rule of the report does, and say what it took."""
    command = [sys.executable, *(["-m", "cProfile", "-o", str(profile)] if profile else [])]
    command += ["-m", "eigenbench.reporting", "--suite", str(suite)]
    for name in ("results", "reports"):
        command += [f"--{name}-dir", str(folder / name)]
    started = time.perf_counter()
    subprocess.run(command, check=True)
    seconds, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{seconds:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processor time,", end=" ")
    print(f"{used.ru_maxrss / 1024:.0f} MiB, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
