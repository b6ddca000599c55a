"""Contributions of each test row to a metric, from a run's stored predictions."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import Run
from eigenbench.comparison.row_metric import RowMetric

Arrays = Mapping[str, NDArray[Any]]

_LEAST = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class RunMetrics:
    """A metric of several runs: contributions of the test rows, by seed.

    ``test_rows`` are their numbers in the dataset where several splits are drawn; rows of a group are alike.
    """

    by_seed: dict[int, RowMetric]
    test_rows: dict[int, NDArray[Any]] | None
    groups: dict[int, NDArray[Any]] | None


def read_run_metrics(results_dir: Path, records: Iterable[Record], metric: str) -> RunMetrics | None:
    """Compute a metric row by row; None where a run's predictions do not give the metric in its record."""
    found: dict[int, RowMetric] = {}
    columns: dict[str, dict[int, NDArray[Any]]] = {"rows": {}, "groups": {}}
    for record in records:
        with open_predictions(results_dir, record) as arrays:
            one = row_metric(metric, record, arrays)
            for name, by_seed in columns.items():
                if name in arrays:
                    by_seed[record.seed] = arrays[name]
        if one is None or not np.isclose(one.value, record.metrics[metric], rtol=1e-3):
            return None
        found[record.seed] = one
    rows, groups = (by_seed if len(by_seed) == len(found) else None for by_seed in columns.values())
    return RunMetrics(found, rows if len(found) > 1 else None, groups)


def run_of(record: Record) -> Run:
    """Return the run that a record is of."""
    names = (record.suite, record.experiment, record.dataset, record.method, record.classifier)
    return Run(*names, record.seed, record.run_key)


@contextmanager
def open_predictions(results_dir: Path, record: Record) -> Iterator[Arrays]:
    """Open the predictions of a run; each array is read when asked for. Empty where there are none."""
    path = results_dir / run_of(record).folder / "predictions.npz"
    try:
        stored = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        yield {}
        return
    with stored:
        yield stored


def row_metric(metric: str, record: Record, arrays: Arrays) -> RowMetric | None:
    """Return what each test row contributes to a metric of a run; None for one that is not known here."""
    name = metric.removeprefix("test_")
    if name == metric:
        return None
    if "truth" in arrays:
        return _of_classes(name, arrays)
    if "target" in arrays:
        return _of_numbers(name, arrays)
    return _of_labels(name, record, arrays) if "truth_indptr" in arrays else None


def _of_classes(name: str, arrays: Arrays) -> RowMetric | None:
    truth, wrong = arrays["truth"], arrays["truth"] != arrays["predicted"]
    if name in ("error", "errors"):
        return RowMetric(wrong[:, None], scale=len(wrong) if name == "errors" else 1)
    if name == "log_loss" and "probability" in arrays:
        return RowMetric(-np.log(np.maximum(arrays["probability"].astype(np.float64), _LEAST))[:, None])
    if name == "brier" and name in arrays:
        return RowMetric(arrays[name].astype(np.float64)[:, None])
    if name == "balanced_error":
        own = (truth[:, None] == np.unique(truth)).astype(np.float64)
        return RowMetric(np.hstack([own * wrong[:, None], own]), _mean_ratio)
    return None


def _of_numbers(name: str, arrays: Arrays) -> RowMetric | None:
    target, error = arrays["target"], arrays["target"] - arrays["estimate"]
    if name == "mae":
        return RowMetric(np.abs(error)[:, None])
    if name == "rmse":
        return RowMetric(error[:, None] ** 2, lambda means: np.sqrt(means[..., 0]))
    centred = target - target.mean()
    return RowMetric(np.column_stack([error**2, centred, centred**2]), _explained) if name == "r2" else None


def _explained(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one minus the mean squared error in units of the variance."""
    return 1 - means[..., 0] / (means[..., 2] - means[..., 1] ** 2)


def _of_labels(name: str, record: Record, arrays: Arrays) -> RowMetric | None:
    shape = tuple(arrays["shape"])
    scores = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    indices, indptr = arrays["truth_indices"], arrays["truth_indptr"]
    truth = csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
    if found := re.fullmatch(r"precision_at_(\d+)", name):
        return RowMetric(_precision(scores, truth, int(found[1]))[:, None])
    stem = name.removesuffix("_at_half")
    threshold = 0.5 if stem != name else record.params.get(f"threshold__{name}")
    if not isinstance(threshold, float):
        return None
    decided = scores.copy()
    decided.data = (scores.data.astype(np.float64) >= threshold).astype(np.float64)
    both, right = (decided + truth).tocsr(), decided.multiply(truth).tocsr()
    if stem == "hamming_loss":
        return RowMetric((_row_sums(both) - 2 * _row_sums(right))[:, None] / shape[1])
    if stem == "micro_f1":
        return RowMetric(np.column_stack([2 * _row_sums(right), _row_sums(both)]), _mean_ratio)
    if stem in ("macro_f1", "macro_f1_present"):
        kept = slice(None) if stem == "macro_f1" else np.unique(indices)
        return RowMetric(hstack([2 * right[:, kept], both[:, kept]], format="csr"), _mean_ratio)
    return None


def _mean_ratio(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the ratios of the first half of the columns to the second; 0 for 0 / 0."""
    above, below = np.split(means, 2, axis=-1)
    return (above / np.where(below == 0, 1.0, below)).mean(axis=-1)


def _precision(scores: csr_array, truth: csr_array, k: int) -> NDArray[np.float64]:
    """Return the share of true labels among the first k of each row, which come best first."""
    place = np.arange(scores.nnz) - np.repeat(scores.indptr[:-1], np.diff(scores.indptr))
    first = csr_array(((place < k).astype(np.float64), scores.indices, scores.indptr), shape=scores.shape)
    return _row_sums(first.multiply(truth)) / k


def _row_sums(matrix: Any) -> NDArray[np.float64]:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
