"""Fit the embedding of a method and seed on all training rows, or for a search on a part of them."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

from eigenbench.bench.jobs.job_context import JobContext
from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.jobs.pipelines import first_rows, fit_features
from eigenbench.bench.jobs.supervision import Report
from eigenbench.bench.records.sealed_json import file_sums, read_sealed, write_sealed
from eigenbench.bench.suites.steps import Step
from eigenbench.methods.model_file import save_model

logger = logging.getLogger(__name__)


def embed(spec: JobSpec, steps: tuple[Step, ...], X: Any, y: Any, seed: int) -> tuple[Any, Report]:
    """Fit a pipeline, or None where there are no steps; report ``fit_seconds`` and ``dimension``."""
    started = time.perf_counter()
    features = fit_features(spec, steps, X, y, seed=seed)
    seconds = time.perf_counter() - started
    row = first_rows(X, 1)
    dimension = (row if features is None else features.transform(row)).shape[1]
    logger.info("%d features in %.1f s", dimension, seconds)
    return features, {"fit_seconds": seconds, "dimension": dimension}


def embedding_folder(context: JobContext, seed: int, point: int | None = None) -> Path:
    """Return the folder of a seed's embedding, or of one point of its search."""
    folder = context.folder(seed)
    return folder if point is None else folder / "search" / f"point-{point}"


def write_embedding(context: JobContext, seed: int, point: int | None = None) -> Report:
    """Fit in a process of its own and write ``features.skops`` and its report, ``embedding.json``.

    Of a fit that failed, the report says why, and the features are an empty file.
    """
    spec = context.spec
    folder = embedding_folder(context, seed, point)
    features_file = folder / "features.skops"

    def fit() -> Report:
        X, y = spec.rows(context.open(seed), "train" if point is None else "fit", seed)
        features, report = embed(spec, spec.embedding_points()[point or 0], X, y, seed)
        save_model(features_file, features)
        return report

    logger.info("embed %s, seed %d", spec.method, seed)
    report = context.obstacle() or context.supervisor.run("embed", fit)
    if report["status"] != "ok":
        features_file.parent.mkdir(parents=True, exist_ok=True)
        features_file.write_bytes(b"")
    path = folder / "embedding.json"
    write_sealed(
        path, report | {"files": file_sums(folder, features_file.name), "replaces": context.replaced(path)}
    )
    return report


def read_embedding(context: JobContext, seed: int, point: int | None = None) -> tuple[Report, Path]:
    """Return the report of an embedding, and the file of its features, after a check of both."""
    folder = embedding_folder(context, seed, point)
    return read_sealed(folder / "embedding.json"), folder / "features.skops"


def run(context: JobContext, seed: int) -> None:
    """Do the work of a job."""
    write_embedding(context, seed, context.options.point)
