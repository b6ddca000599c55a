"""Choose parameters by the 1-NN error on classes that took no part in fitting."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, ParameterGrid
from sklearn.pipeline import Pipeline

from eigenbench.methods.classifiers.one_example import OneExampleNearestNeighbour

logger = logging.getLogger(__name__)


def one_example_error(X: Any, y: Any) -> float:
    """Return the 1-NN error with one example per class, in expectation over all choices of the examples."""
    return OneExampleNearestNeighbour().fit(X, y).leave_rest_out_error()


def choose_on_held_out_classes(
    method: Pipeline,
    X: np.ndarray,
    y: np.ndarray,
    *,
    folds: int,
    seed: int,
    measured: np.ndarray | None = None,
) -> tuple[dict[str, float], float | None]:
    """Set the parameters given as ``{choose: [...]}`` to the values that transfer best to held-out classes.

    The classes are divided at random into ``folds`` parts. Each part in turn is held out: the method is
    fitted on the other classes, and the part is a target task. Chosen is the combination with the lowest
    mean `one_example_error`, the first one of equals; one that cannot be fitted to a part is out.

    Parameters
    ----------
    method : Pipeline
        Unfitted. Parameters of any step may be ``{"choose": [number, ...]}``; they are set in place.
    X : ndarray of shape (n, d)
        Rows of the source task.
    y : ndarray of shape (n,)
        Their classes.
    folds : int
        Number of parts, at least 2; every part must have two classes or more.
    seed : int
        Draws the parts.
    measured : ndarray of shape (n,), bool, or None
        Rows on which the error is taken; None: all. Methods are fitted on the others, too.

    Returns
    -------
    chosen : dict of str to float
        Values by ``step__parameter``; empty when there is nothing to choose.
    error : float or None
        The mean error of the chosen combination on held-out classes; None when there is nothing to choose.

    Raises
    ------
    ValueError
        If a list of values is empty or holds something else than numbers, there are too few classes, or no
        combination can be fitted; then it is the error of the last one.

    Notes
    -----
    One fit per combination and part.
    """
    grid = _candidates(method)
    if not grid:
        return {}, None
    n_classes = len(np.unique(y))
    if n_classes < 2 * folds:
        raise ValueError(
            f"{n_classes} source classes cannot make {folds} parts of two classes: lower the setting folds"
        )
    counted = np.ones(len(y), dtype=bool) if measured is None else measured
    parts = list(GroupKFold(folds, shuffle=True, random_state=seed).split(X, y, groups=y))
    parts = [(rest, held_out[counted[held_out]]) for rest, held_out in parts]
    best: tuple[float, dict[str, float]] | None = None
    failure: Exception | None = None
    for candidate in ParameterGrid(grid):
        try:
            error = _error_on_parts(clone(method).set_params(**candidate), X, y, parts)
        except (ValueError, np.linalg.LinAlgError) as reason:
            logger.warning("%s cannot be fitted: %s", candidate, reason)
            failure = reason
            continue
        if best is None or error < best[0]:
            best = error, candidate
    if best is None:
        assert failure is not None
        raise failure
    method.set_params(**best[1])
    return best[1], best[0]


def _error_on_parts(
    method: Pipeline, X: np.ndarray, y: np.ndarray, parts: list[tuple[np.ndarray, np.ndarray]]
) -> float:
    errors = []
    for rest, held_out in parts:
        fitted = clone(method).fit(X[rest], y[rest])
        errors.append(one_example_error(fitted.transform(X[held_out]), y[held_out]))
    return float(np.mean(errors))


def _candidates(method: Pipeline) -> dict[str, list[float]]:
    """Return the values to choose among, by ``step__parameter``."""
    found = {
        name: value["choose"]
        for name, value in method.get_params(deep=True).items()
        if isinstance(value, dict) and set(value) == {"choose"}
    }
    for name, values in found.items():
        numbers = isinstance(values, list) and all(type(value) in (int, float) for value in values)
        if not numbers or not values:
            raise ValueError(f"{name}: 'choose' needs a list of numbers, found {values!r}")
    return found
