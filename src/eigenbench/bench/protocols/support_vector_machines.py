"""Support vector machines on features and with an exact kernel, C chosen on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from eigenbench.bench.protocols.base import Trial
from eigenbench.datasets.splits import holdout_split
from eigenbench.methods.classifiers.squared_hinge import SquaredHinge, decision_values
from eigenbench.methods.classifiers.squared_hinge_dual import SquaredHingeDual, inner_products
from eigenbench.methods.embeddings.kernel_features.spherical_kernels import spherical_polynomial_kernel
from eigenbench.methods.linalg.row_blocks import row_slices

if TYPE_CHECKING:
    from eigenbench.bench.protocols.linear_svm import Settings

#: A kernel matrix of this many rows takes 800 MB.
_MAX_KERNEL_ROWS = 10_000
#: With more rows than this times the features, passes over the features cost less than the inner products.
_DUAL_ROWS_PER_FEATURE = 4
_CACHE_MB = 1000


@dataclass(frozen=True)
class UnitRows:
    """Unit rows; of the training rows the first ``n_fit`` are those to fit on while C is chosen."""

    X: Any
    y: NDArray[np.int64]
    n_fit: int
    X_test: Any
    y_test: NDArray[np.int64]
    n_classes: int

    @classmethod
    def of(cls, trial: Trial, validation_fraction: float) -> UnitRows:
        """Take the rows of a trial's dataset, scaled to unit length; the trial's seed draws the split."""
        dataset = trial.data()
        fit_rows, validation_rows = holdout_split(dataset.y_train, validation_fraction, trial.seed)
        # In this order the rows to fit on, and all of them, are views of one feature matrix.
        order = np.concatenate([fit_rows, validation_rows])
        return cls(
            normalize(dataset.X_train[order]),
            dataset.y_train[order],
            len(fit_rows),
            normalize(dataset.X_test),
            dataset.y_test,
            len(dataset.classes),
        )


def machine_on_features(features: Any, data: UnitRows, settings: Settings) -> dict[str, float]:
    """Train linear machines on features, one class against the rest.

    Returns
    -------
    dict of str to float
        ``test_error``, ``validation_error`` of the chosen C, and ``C``.

    Notes
    -----
    Features of all training rows are in memory at once; those of test rows block by block. Up to 10,000 rows,
    and where rows are fewer than four for each feature, the inner products of the rows are too.
    """
    features.fit(data.X)
    mapped = features.transform(data.X)
    codes = np.arange(data.n_classes) if data.n_classes > 2 else np.array([1])
    signs = np.where(data.y[:, None] == codes, 1, -1).astype(mapped.dtype)
    dual = len(mapped) <= min(_MAX_KERNEL_ROWS, _DUAL_ROWS_PER_FEATURE * mapped.shape[1])
    chosen = _in_dual if dual else _in_primal
    final, C, validation_error = chosen(mapped, signs, data, settings)
    # Test rows are mapped block by block: their features need not be in memory at once.
    blocks = row_slices(data.X_test.shape[0], mapped.shape[1] * mapped.itemsize)
    scores = [decision_values(features.transform(data.X_test[rows]), final) for rows in blocks]
    return {
        "test_error": _error(np.concatenate(scores), data.y_test),
        "validation_error": validation_error,
        "C": C,
    }


def _in_primal(
    mapped: NDArray[Any], signs: NDArray[Any], data: UnitRows, settings: Settings
) -> tuple[NDArray[Any], float, float]:
    """Choose C on the held-out rows; return the weights for all rows, C and the error it was chosen by."""
    part = SquaredHinge(mapped[: data.n_fit], signs[: data.n_fit])
    start, C, error = _best(part, partial(decision_values, mapped[data.n_fit :]), data, settings)
    return SquaredHinge(mapped, signs).minimise(C, start=start, tol=settings.tol), C, error


def _in_dual(
    mapped: NDArray[Any], signs: NDArray[Any], data: UnitRows, settings: Settings
) -> tuple[NDArray[Any], float, float]:
    """Do the same from the inner products of the rows."""
    gram = inner_products(mapped)
    part = SquaredHingeDual(gram[: data.n_fit, : data.n_fit], signs[: data.n_fit])
    found, C, error = _best(part, partial(np.matmul, gram[data.n_fit :, : data.n_fit]), data, settings)
    start = np.vstack([found, np.zeros_like(signs[data.n_fit :])])
    final = SquaredHingeDual(gram, signs).minimise(C, start=start, tol=settings.tol)
    return np.vstack([mapped.T @ final, final.sum(axis=0)]), C, error


def _best(
    part: SquaredHinge | SquaredHingeDual,
    held_out_scores: Callable[[NDArray[Any]], NDArray[Any]],
    data: UnitRows,
    settings: Settings,
) -> tuple[NDArray[Any], float, float]:
    """Solve for each C from the result for the C before; return the result of least held-out error."""
    found, path, errors = None, [], []
    for C in settings.C:
        found = part.minimise(C, start=found, tol=settings.tol)
        path.append(found)
        errors.append(_error(held_out_scores(found), data.y[data.n_fit :]))
    best = int(np.argmin(errors))
    return path[best], settings.C[best], errors[best]


def _error(scores: NDArray[Any], y: NDArray[np.int64]) -> float:
    predicted = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.int64)
    return float(np.mean(predicted != y))


def exact_machine(data: UnitRows, settings: Settings) -> dict[str, float]:
    """Train machines with the exact kernel, for pairs of classes; the metrics of `machine_on_features`."""
    errors = []
    for C in settings.exact_C:
        machine = _kernel_machine(C, settings, len(data.y)).fit(data.X[: data.n_fit], data.y[: data.n_fit])
        errors.append(float(np.mean(machine.predict(data.X[data.n_fit :]) != data.y[data.n_fit :])))
    best = int(np.argmin(errors))
    machine = _kernel_machine(settings.exact_C[best], settings, len(data.y)).fit(data.X, data.y)
    return {
        "test_error": float(np.mean(machine.predict(data.X_test) != data.y_test)),
        "validation_error": errors[best],
        "C": settings.exact_C[best],
    }


def _kernel_machine(C: float, settings: Settings, n_rows: int) -> SVC:
    """Return a machine whose kernel is one matrix product where it fits in memory, else libsvm's own.

    The kernel (1 - |x - y|²/a²)^p of unit rows is (g x·y + 1 - g)^p with g = 2/a².
    """
    if n_rows <= _MAX_KERNEL_ROWS:
        return SVC(C=C, kernel=partial(spherical_polynomial_kernel, degree=settings.degree, a=settings.a))
    g = 2 / settings.a**2
    return SVC(C=C, kernel="poly", degree=settings.degree, gamma=g, coef0=1 - g, cache_size=_CACHE_MB)
