"""The function ``eigenbench.compare``."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from rich.console import Console

from eigenbench.own_data.compared_methods import label
from eigenbench.own_data.comparison_run import ComparisonResult, Options, columns_of, run_comparison
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.table import OwnDataError, table_of
from eigenbench.own_data.terminal import Progress, answer
from eigenbench.reporting.terminal_tables import rank_texts


def compare(
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    groups: Any = None,
    time: str | None = None,
    regression: bool = False,
    cv: int | None = None,
    methods: Sequence[str] = (),
    exclude: Sequence[str] = (),
    metric: str | None = None,
    search: bool = False,
    curve: bool = False,
    time_limit: float | None = None,
    seed: int = 0,
    jobs: int | None = None,
    out: str | Path | None = None,
) -> pd.DataFrame:
    """Compare embeddings, and classifiers without an embedding, on your own data.

    The command ``eigenbench compare`` does the same. The folder ``out`` gets a record of each run, an MLflow
    store and a report. Texts are read as numbers, dates or categories; missing values are imputed and
    columns scaled on the training rows.

    Parameters
    ----------
    X : DataFrame, array-like or sparse matrix of shape (n, d)
        Numbers, texts and dates of each row; values may be missing.
    y : array-like of shape (n,) or (n, c)
        Classes, numbers, or a column of 0 and 1 for each label.
    X_test, y_test : as X and y, optional
        Rows to test on, instead of folds.
    groups : array-like of shape (n,), optional
        Rows of one group stay in one fold.
    time : str, optional
        Column of X with dates or numbers. The last fifth of the rows is tested; the column is no input.
    regression : bool, default=False
        Treat y as numbers, even if it has few values. Fractions, and many different integers, always are
        numbers.
    cv : int, optional
        Number of stratified folds; five by default.
    methods, exclude : str or sequence of str
        Names of methods, by default a quick selection, ``["all"]`` for all; a wrong name lists them.
        The raw inputs are always compared.
    metric : str, optional
        Metric that ranks the methods: ``error`` (default), ``balanced_error`` (default if a class is rare),
        ``log_loss`` or ``brier``; for labels ``micro_f1`` (default) or another of suites; for numbers
        ``rmse`` (default), ``mae`` or ``r2``.
    search : bool, default=False
        Choose the settings of each method on a quarter of the training rows of each fold.
    curve : bool, default=False
        Also fit the three best methods to an eighth, a quarter and a half of the training rows. Reports
        whether more rows would help, and whether the order of methods is likely to change. For classes only.
    time_limit : float, optional
        Time limit in seconds; by default 300, with a search 3,600. Methods run fold by fold, and are compared
        on the folds that all of them have finished; a warning gives their number.
    seed : int, default=0
        Seed of all random choices.
    jobs : int, optional
        Number of cores; by default all.
    out : path-like, optional
        Folder of all output. The recommended method, fitted to all rows, is ``model.skops``. By default a
        temporary folder, which is removed.

    Returns
    -------
    DataFrame
        One row per method, best first: ``rank``, ``method``, ``classifier``, ``metric`` with its ``mean``
        and 95 % interval ``ci_low``, ``ci_high``; ``tied``, whether it is tied with the best; the
        ``difference`` to the best with its interval; ``balanced_error``; ``log_loss`` (nats per row);
        ``seconds`` to fit, ``predictions_per_second``, ``peak_rss_mb`` (MiB), means over folds;
        ``without_result``, the folds without a result, and why. A notebook shows seven columns and the
        recommendation, which is also in ``board.attrs["answer"]``. ``board.attrs["curve"]`` has the ``error``
        of each ``method`` and ``fold`` by training ``rows``, as lists.

    Raises
    ------
    OwnDataError
        If the data or an option can't be used; the message is one sentence.

    Notes
    -----
    Libraries, report and MLflow take about 20 s, even for tiny data.

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
    table = table_of("X", X, y, groups)
    problem = make_problem(table, test, cv, time=None if time is None else str(time), regression=regression)
    methods, exclude = ([names] if isinstance(names, str) else names for names in (methods, exclude))
    options = Options(methods, exclude, metric, time_limit, search, curve, seed, jobs)
    with ExitStack() as stack:
        folder = out or stack.enter_context(tempfile.TemporaryDirectory(prefix="eigenbench-"))
        shown: dict[str, Any] = {"seen": stack.enter_context(Progress()).seen} if Console().is_jupyter else {}
        return _board(run_comparison(problem, Path(folder), options, **shown), kept=out is not None)


class Leaderboard(pd.DataFrame):
    """A leaderboard that notebooks show with seven columns and the advice.

    Its ``attrs`` hold the ``answer``, in sentences, and the path of the ``model``, if one is kept.
    """

    _SHOWN: ClassVar = ["rank", "method", "mean", "ci_low", "ci_high", "difference", "seconds"]

    def _repr_html_(self) -> str:
        ranks = [str(text) for text in rank_texts(self)]
        names = [label(line) for line in self.to_dict("records")]
        shown = pd.DataFrame(self).assign(rank=ranks, method=names)[self._SHOWN]
        lines = [*self.attrs["answer"], *([f"Model: {self.attrs['model']}"] if self.attrs["model"] else [])]
        return shown.to_html(index=False, float_format="{:.4g}".format) + "".join(
            f"<p>{escape(line)}</p>" for line in lines
        )


def _board(outcome: ComparisonResult, kept: bool) -> pd.DataFrame:
    if outcome.note:
        warnings.warn(outcome.note, stacklevel=3)
    board = Leaderboard(columns_of(outcome.board))
    saved = str(outcome.workspace.model) if kept and outcome.saved else None
    board.attrs |= {"answer": [*outcome.curve, *answer(outcome.board)], "model": saved}
    if outcome.curve and outcome.workspace.curve.exists():
        board.attrs["curve"] = pd.read_csv(outcome.workspace.curve).to_dict("list")
    return board
