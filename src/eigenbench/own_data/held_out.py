"""Whether a search can hold rows out of the training rows of every fold, asked before any work."""

from __future__ import annotations

import numpy as np

from eigenbench.datasets.splits import fold_split, holdout_split
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
    y = problem.target.labels
    if not problem.multilabel:
        y = np.unique(y, return_inverse=True)[1]
    for fold in range(problem.n_folds or 1):
        try:
            reason = _why_not(problem, y, seed * (problem.n_folds or 1) + fold)
        except ValueError as error:
            reason = str(error)
        if reason:
            remedy = "--search" if problem.groups is None else "--search or --group"
            raise OwnDataError(
                f"fold {fold + 1} has no held-out rows to search by: {reason}; leave {remedy} out"
            )


def _why_not(problem: Problem, y: np.ndarray, seed: int) -> str:
    rows, groups = np.arange(problem.n_train), problem.groups
    if problem.n_folds:
        strata = None if problem.multilabel else y
        rows, _ = fold_split(len(rows), problem.n_folds, seed, strata, groups)
    fit, held = holdout_split(y[rows], HELD_OUT, seed, None if groups is None else groups[rows])
    if not len(held):
        return "no class has two training rows"
    if y.ndim == 1 and len(np.unique(y[rows][fit])) < 2:
        return "the training rows that are left are of one class"
    return ""
