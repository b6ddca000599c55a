"""A small suite, its records and a reference made from them. The numbers are made up for these tests."""

from pathlib import Path

import pytest
from record_files import DATASETS, ENVIRONMENT, plan_of

from eigenbench.bench.records.record import Record
from eigenbench.bench.suites.suite import Suite
from eigenbench.bench.suites.suite_file import load_suite
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

BLAS = {"threads": 1, "blas": "openblas 0.3.30 Haswell"}


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
            dataset_info=DATASETS["digits"].model_copy(update={"n_test": 450}),
            environment=ENVIRONMENT.model_copy(update=BLAS),
        )
        for run in plan_of(suite).runs
    ]


@pytest.fixture
def reference_dir(tmp_path: Path, records: list[Record]) -> Path:
    folder = tmp_path / "reference"
    folder.mkdir()
    (folder / "results.csv").write_text(results_csv(records))
    return folder
