"""Records where the workflow puts them, what they were made by, and the plan of a suite."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from eigenbench.bench.jobs.plan import SuitePlan, plan_suite
from eigenbench.bench.records.record import DatasetInfo, Environment, Record, write_record
from eigenbench.bench.suites.suite import Suite
from eigenbench.bench.suites.suite_file import catalogue_of

ENVIRONMENT = Environment(
    python="3.11.2",
    platform="Linux-6.1-x86_64-with-glibc2.36",
    cpu="Example CPU 3000",
    threads=2,
    packages={"numpy": "2.4.6", "scikit-learn": "1.9.1"},
    git_commit="0123456789abcdef0123456789abcdef01234567",
    git_dirty=True,
    code_hash="fedcba9876543210",
)

DATASETS = {
    name: DatasetInfo(
        name=name,
        sha256=hashlib.sha256(name.encode()).hexdigest(),
        n_train=n_train,
        n_test=n_test,
        n_features=n_features,
        n_classes=10,
        split="official",
        source="local mirror",
        licence="CC BY 4.0",
    )
    for name, n_train, n_test, n_features in (("mnist", 60_000, 10_000, 784), ("digits", 1_437, 360, 64))
}


def write(results_dir: Path, record: Record) -> Path:
    method = results_dir / record.suite / record.experiment / record.method / f"seed-{record.seed}"
    path = method / record.classifier / "record.json"
    write_record(path, record)
    return path


def write_all(results_dir: Path, records: Iterable[Record]) -> Path:
    for record in records:
        write(results_dir, record)
    return results_dir


def plan_of(suite: Suite) -> SuitePlan:
    return plan_suite(suite, catalogue_of(suite))
