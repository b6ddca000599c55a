"""The function ``eigenbench.compare``."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from eigenbench.own_data.comparison_run import ComparisonResult, Options, columns_of, run_comparison
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.table import OwnDataError, table_of


def compare(
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    groups: Any = None,
    cv: int | None = None,
    methods: Sequence[str] = (),
    exclude: Sequence[str] = (),
    metric: str | None = None,
    search: bool = False,
    time_limit: float | None = None,
    seed: int = 0,
    jobs: int | None = None,
    out: str | Path | None = None,
) -> pd.DataFrame:
    """Compare embeddings, and classifiers without one, on data of one's own.

    It does what the command ``eigenbench compare`` does: the same workflow in a folder of its own, with a
    record of each run, MLflow and a report. Texts are categories, missing values are imputed and columns
    scaled, all by what the training rows say.

    Parameters
    ----------
    X : DataFrame, array-like or sparse matrix of shape (n, d)
        Numbers, texts and dates of each row; values may be missing.
    y : array-like of shape (n,) or (n, c)
        Classes; or several columns of 0 and 1, the labels that a row has.
    X_test, y_test : as X and y, optional
        Rows to test on, in place of folds.
    groups : array-like of shape (n,), optional
        Rows of one group stay in one fold.
    cv : int, optional
        Number of folds, which share out the rows of each class evenly; by default five, or three of more
        than 20,000 rows.
    methods, exclude : sequence of str
        Names of methods, see ``eigenbench list methods``; by default a quick selection, ``["all"]`` for all.
        The raw inputs are always compared.
    metric : str, optional
        What to rank by: ``error`` (default), ``balanced_error`` (default where a class is rare) or
        ``log_loss``; for labels ``micro_f1`` (default) or another of suites.
    search : bool, default=False
        Choose settings of every method on a quarter of the training rows of each fold.
    time_limit : float, optional
        Seconds for all fits; by default 300, with a search 3,600. Methods run fold by fold, and are compared
        on the folds that all have done by then; a warning says on how many.
    seed : int, default=0
        Draws the folds and all else.
    jobs : int, optional
        Cores; by default all.
    out : path-like, optional
        Folder for everything, with the best method fitted on all rows as ``model.skops``. By default a
        temporary folder, which is removed.

    Returns
    -------
    DataFrame
        One line per method, best first: ``rank``, ``method``, ``classifier``, ``metric`` with its ``mean``
        and 95 % interval ``ci_low``, ``ci_high``; ``tied``, whether it can't be told from the best; the
        ``difference`` to the best with its interval; ``balanced_error``; ``log_loss`` (nats per row);
        ``seconds`` to fit, ``predictions_per_second``, ``peak_rss_mb`` (MiB), means over folds;
        ``without_result``, which folds have none and why.

    Raises
    ------
    OwnDataError
        If the data or an option can't be used; the message is one sentence.

    Notes
    -----
    A job of the workflow costs about two seconds, so even tiny data take some tens of seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import eigenbench
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> board = eigenbench.compare(X, y, methods=["lda"], cv=3)  # doctest: +SKIP
    """
    if (X_test is None) != (y_test is None):
        raise OwnDataError("X_test and y_test go together")
    test = None if X_test is None else table_of("X_test", X_test, y_test)
    problem = make_problem(table_of("X", X, y, groups), test, cv)
    options = Options(methods, exclude, metric, time_limit, search, seed, jobs)
    if out is not None:
        return _board(run_comparison(problem, Path(out), options))
    with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder:
        return _board(run_comparison(problem, Path(folder), options))


def _board(outcome: ComparisonResult) -> pd.DataFrame:
    if outcome.note:
        warnings.warn(outcome.note, stacklevel=3)
    return columns_of(outcome.board)
