"""A small suite, its records and a reference made from them. The numbers are made up for these tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.records.record import DatasetInfo, Environment, Record, write_record
from eigenbench.bench.suites.suite import Suite
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets.catalogue import load_catalogue
from eigenbench.reporting.csv_files import results_csv

SUITE = """
title: Small
experiments:
  digits:
    dataset: digits
    seeds: [0, 1, 2]
    methods: {pca: {steps: [PCA]}, gem: {steps: [GEM], seeds: [0]}}
    classifiers: [CalibratedLeastSquares]
"""

ENVIRONMENT = Environment(
    python="3.11.2",
    platform="Linux-6.1-x86_64",
    cpu="Example CPU 3000",
    threads=1,
    packages={"numpy": "2.4.6"},
    blas="openblas 0.3.30 Haswell",
    git_commit=None,
    git_dirty=None,
    code_hash="fedcba9876543210",
)

INFO = DatasetInfo(
    name="digits",
    sha256="ab" * 32,
    n_train=1347,
    n_test=450,
    n_features=64,
    n_classes=10,
    split="official",
    source="installed",
    licence="CC BY 4.0",
)


def metrics(errors: int) -> dict[str, float]:
    return {"test_errors": float(errors), "test_error": errors / 450, "fit_seconds": errors / 7}


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    (tmp_path / "suites").mkdir()
    path = tmp_path / "suites" / "small.yaml"
    path.write_text(SUITE)
    return load_suite(path)


@pytest.fixture
def records(suite: Suite) -> list[Record]:
    return [
        Record(
            **run.identity,
            deterministic=False,
            status="ok",
            metrics=metrics(20 + 2 * run.seed if run.method == "pca" else 9),
            dataset_info=INFO,
            environment=ENVIRONMENT,
        )
        for run in plan_suite(suite, load_catalogue()).runs
    ]


@pytest.fixture
def reference_dir(tmp_path: Path, records: list[Record]) -> Path:
    folder = tmp_path / "reference"
    folder.mkdir()
    (folder / "results.csv").write_text(results_csv(records))
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return the function that writes records into the results folder."""

    def write_all(records: list[Record]) -> Path:
        results = tmp_path / "results"
        for record in records:
            method = results / record.suite / record.experiment / record.method / f"seed-{record.seed}"
            write_record(method / record.classifier / "record.json", record)
        return results

    return write_all
