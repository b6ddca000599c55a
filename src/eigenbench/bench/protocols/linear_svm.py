"""Test error of linear support vector machines on random features, beside the exact kernel's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from eigenbench.bench.protocols.base import (
    Outcome,
    ProtocolSettings,
    Several,
    Sizes,
    Trial,
    at_sizes,
    by_size,
)

#: A kernel matrix of this many rows takes 800 MB.
_MAX_KERNEL_ROWS = 10_000
#: With more rows than this times the features, passes over the features cost less than the inner products.
_DUAL_ROWS_PER_FEATURE = 4
_CACHE_MB = 1000


class LinearSVMSettings(ProtocolSettings):
    """The kernel ``(1 - |x - y|² / a²)^degree``, the sizes D, and the ascending values of C to choose from.

    A method without steps is a machine with the exact kernel, which chooses from ``exact_C``.
    """

    headline: ClassVar[str] = "test_error_at_2048"

    degree: int = Field(ge=1)
    a: float = Field(default=4.0, ge=2)
    sizes: Sizes = (512, 1024, 2048, 4096, 8192, 16384)
    C: Several[Annotated[float, Field(gt=0)]] = Field(min_length=1, default=(1.0, 10.0, 100.0))
    exact_C: Several[Annotated[float, Field(gt=0)]] = Field(min_length=1, default=(1.0, 10.0, 100.0))
    validation_fraction: float = Field(default=1 / 6, gt=0, lt=1)
    tol: float = Field(default=1e-2, gt=0)

    def work(self, rows: int, features: int) -> int:
        """Estimate the numbers that one measurement computes on: features of all sizes, for each C."""
        return rows * sum(self.sizes) * len(self.C)

    def metrics(self) -> tuple[str, ...]:
        """Return the names of errors and chosen C at every size."""
        return at_sizes(("test_error", "validation_error", "C"), self.sizes)


def measure(trial: Trial) -> Outcome:
    """For each size, choose C on a held-out part of the training rows, train on all of them, and test.

    The machines on features minimise the objective of ``LinearSVC``, one against the rest
    (`eigenbench.methods.classifiers.squared_hinge`). The exact machine is ``SVC`` with the polynomial kernel,
    whose loss is the hinge and whose classes are separated in pairs; its error is given for every size.

    For each size D: ``test_error_at_D``, also a curve over D, ``validation_error_at_D`` and ``C_at_D``.
    """
    settings: LinearSVMSettings = trial.settings
    data = UnitRows.of(trial, settings.validation_fraction)
    started = time.perf_counter()
    if trial.build().steps[-1][1] == "passthrough":
        exact = exact_machine(data, settings.exact_C, degree=settings.degree, a=settings.a)
        found = dict.fromkeys(settings.sizes, exact)
    else:
        found = {
            size: machine_on_features(trial.build(n_components=size), data, settings.C, tol=settings.tol)
            for size in settings.sizes
        }
    metrics, curves = by_size(found, "features")
    errors = {name: curve for name, curve in curves.items() if name.startswith("test_error")}
    return Outcome(metrics, errors, fit_seconds=time.perf_counter() - started)


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
        from sklearn.preprocessing import normalize

        from eigenbench.datasets.splits import holdout_split

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


def machine_on_features(
    features: Any, data: UnitRows, Cs: tuple[float, ...], *, tol: float
) -> dict[str, float]:
    """Train linear machines on features of unit rows, one class against the rest, and choose C.

    Returns ``test_error``, ``validation_error`` of the chosen C, and ``C``. Features of all training rows are
    in memory at once; those of test rows block by block. Up to 10,000 rows, and where rows are fewer than
    four for each feature, the inner products of the rows are too, and while C is chosen a copy of those of
    the rows to fit on.
    """
    from eigenbench.methods.classifiers.squared_hinge import decision_values
    from eigenbench.methods.linalg.row_blocks import row_slices

    features.fit(data.X)
    mapped = features.transform(data.X)
    codes = np.arange(data.n_classes) if data.n_classes > 2 else np.array([1])
    signs = np.where(data.y[:, None] == codes, 1, -1).astype(mapped.dtype)
    dual = len(mapped) <= min(_MAX_KERNEL_ROWS, _DUAL_ROWS_PER_FEATURE * mapped.shape[1])
    final, C, validation_error = (_in_dual if dual else _in_primal)(mapped, signs, data, Cs, tol)
    # Test rows are mapped block by block: their features need not be in memory at once.
    blocks = row_slices(data.X_test.shape[0], mapped.shape[1] * mapped.itemsize)
    scores = [decision_values(features.transform(data.X_test[rows]), final) for rows in blocks]
    return {
        "test_error": _error(np.concatenate(scores), data.y_test),
        "validation_error": validation_error,
        "C": C,
    }


def _in_primal(
    mapped: NDArray[Any], signs: NDArray[Any], data: UnitRows, Cs: tuple[float, ...], tol: float
) -> tuple[NDArray[Any], float, float]:
    """Choose C on the held-out rows; return the weights for all rows, C and the error it was chosen by."""
    from eigenbench.methods.classifiers.squared_hinge import SquaredHinge, decision_values

    part = SquaredHinge(mapped[: data.n_fit], signs[: data.n_fit])
    start, C, error = _best(part, partial(decision_values, mapped[data.n_fit :]), data, Cs, tol)
    return SquaredHinge(mapped, signs).minimise(C, start=start, tol=tol), C, error


def _in_dual(
    mapped: NDArray[Any], signs: NDArray[Any], data: UnitRows, Cs: tuple[float, ...], tol: float
) -> tuple[NDArray[Any], float, float]:
    """Do the same from the inner products of the rows."""
    from eigenbench.methods.classifiers.squared_hinge import SquaredHingeDual, inner_products

    gram = inner_products(mapped)
    found, C, error = _best(
        SquaredHingeDual(gram[: data.n_fit, : data.n_fit], signs[: data.n_fit]),
        partial(np.matmul, gram[data.n_fit :, : data.n_fit]),
        data,
        Cs,
        tol,
    )
    start = np.vstack([found, np.zeros_like(signs[data.n_fit :])])
    final = SquaredHingeDual(gram, signs).minimise(C, start=start, tol=tol)
    return np.vstack([mapped.T @ final, final.sum(axis=0)]), C, error


def _best(
    part: Any,
    held_out_scores: Callable[[NDArray[Any]], NDArray[Any]],
    data: UnitRows,
    Cs: tuple[float, ...],
    tol: float,
) -> tuple[NDArray[Any], float, float]:
    """Solve for each C from the result for the C before; return the result of least held-out error."""
    found, path, errors = None, [], []
    for C in Cs:
        found = part.minimise(C, start=found, tol=tol)
        path.append(found)
        errors.append(_error(held_out_scores(found), data.y[data.n_fit :]))
    best = int(np.argmin(errors))
    return path[best], Cs[best], errors[best]


def _error(scores: NDArray[Any], y: NDArray[np.int64]) -> float:
    predicted = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.int64)
    return float(np.mean(predicted != y))


def exact_machine(data: UnitRows, Cs: tuple[float, ...], *, degree: int, a: float) -> dict[str, float]:
    """Train machines with the exact kernel, for pairs of classes; the metrics of `machine_on_features`."""

    def error(C: float, n: int, X: Any, y: NDArray[np.int64]) -> float:
        return float(np.mean(_kernel_machine(C, degree, a, data.X[:n], data.y[:n]).predict(X) != y))

    errors = [error(C, data.n_fit, data.X[data.n_fit :], data.y[data.n_fit :]) for C in Cs]
    best = int(np.argmin(errors))
    test_error = error(Cs[best], len(data.y), data.X_test, data.y_test)
    return {"test_error": test_error, "validation_error": errors[best], "C": Cs[best]}


def _kernel_machine(C: float, degree: int, a: float, X: Any, y: NDArray[np.int64]) -> Any:
    """Train a machine whose kernel is one matrix product where it fits in memory, else libsvm's own.

    The kernel (1 - |x - y|²/a²)^p of unit rows is (g x·y + 1 - g)^p with g = 2/a². Libsvm gets equal dense
    rows of a class as one row of their weight: the same problem with fewer unknowns.
    """
    from sklearn.svm import SVC

    from eigenbench.methods.embeddings.kernel_features.spherical_density import spherical_polynomial_kernel

    if X.shape[0] <= _MAX_KERNEL_ROWS:
        return SVC(C=C, kernel=partial(spherical_polynomial_kernel, degree=degree, a=a)).fit(X, y)
    counts = None
    if isinstance(X, np.ndarray):
        pairs = np.column_stack([X, y])
        _, first, counts = np.unique(pairs, axis=0, return_index=True, return_counts=True)
        X, y, counts = X[np.sort(first)], y[np.sort(first)], counts[np.argsort(first)]
    g = 2 / a**2
    machine = SVC(C=C, kernel="poly", degree=degree, gamma=g, coef0=1 - g, cache_size=_CACHE_MB)
    return machine.fit(X, y, sample_weight=counts)
