"""Whether a search can hold rows out of the training rows of every fold, asked before any work."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from eigenbench.bench.jobs.rows import Rows
from eigenbench.datasets.splits import fold_split
from eigenbench.own_data.errors import OwnDataError
from eigenbench.own_data.methods import HELD_OUT
from eigenbench.own_data.problem import Problem


def check_held_out(problem: Problem, seed: int) -> None:
    """Draw the held-out rows of every fold, as the runs will.

    Parameters
    ----------
    problem : Problem
        The data.
    seed : int
        Which repetition of the folds.

    Raises
    ------
    OwnDataError
        If some fold has no rows to hold out, or holding them out leaves one class to fit on.
    """
    y, n_folds = problem.target.labels, problem.n_folds
    if not problem.multilabel:
        y = np.unique(y, return_inverse=True)[1]
    for fold in range(n_folds or 1):
        try:
            _check_fold(problem, y, seed * (n_folds or 1) + fold)
        except ValueError as error:
            named = "--search" if problem.groups is None else "--search or --group"
            raise OwnDataError(
                f"fold {fold + 1} has no held-out rows to search by: {error}; leave {named} out"
            ) from error


def _check_fold(problem: Problem, y: np.ndarray, seed: int) -> None:
    rows, groups = np.arange(problem.n_train), problem.groups
    if problem.n_folds:
        strata = None if problem.multilabel else y
        rows, _ = fold_split(len(rows), problem.n_folds, seed, strata, groups)
    train = SimpleNamespace(
        X_train=rows, y_train=y[rows], train_groups=None if groups is None else groups[rows]
    )
    _, fitted = Rows(name="fit", fraction=HELD_OUT, seed=seed).of(train)
    if fitted.ndim == 1 and len(np.unique(fitted)) < 2:
        raise ValueError("the training rows that are left are of one class")
