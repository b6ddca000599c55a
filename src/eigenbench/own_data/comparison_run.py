"""Compare methods on a problem: write the folder, fit, rank, and save the winner."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd

from eigenbench.bench.jobs.job_spec import search_rows
from eigenbench.bench.suites.parts import MULTICLASS_METRICS, MULTILABEL_METRICS, REGRESSION_METRICS
from eigenbench.datasets.splits import fold_split
from eigenbench.own_data.compared_methods import HELD_OUT, Methods, chosen_methods
from eigenbench.own_data.problem import Problem
from eigenbench.own_data.progress import FitsEnd, RunProgress, planned_runs, reporting, run_fits
from eigenbench.own_data.table import OwnDataError, unknown
from eigenbench.own_data.winner import advised, save_winner
from eigenbench.own_data.workspace import (
    EXPERIMENT,
    Workspace,
    check_suite_name,
    copy_suite,
    keep_folds,
    write_workspace,
)
from eigenbench.reporting.inputs import read_inputs
from eigenbench.reporting.leaderboard import leaderboard

#: Seconds for the answer by default, and with a search.
_SECONDS, _SECONDS_OF_SEARCH = 300.0, 3600.0

#: By the kind of target.
_METRICS = {
    "multiclass": MULTICLASS_METRICS,
    "multilabel": MULTILABEL_METRICS,
    "regression": REGRESSION_METRICS,
}
_DEFAULT_METRIC = {"multiclass": "error", "multilabel": "micro_f1", "regression": "rmse"}

#: A fit may take so many times its equal share of the time, if there were but one fold.
_SHARE = 2.0


@dataclass(frozen=True)
class Options:
    """Request of the user.

    Attributes
    ----------
    methods, exclude : sequence of str
        Names of recipes and classifiers.
    metric : str or None
        What methods are ranked by; by default the error, the balanced error of imbalanced classes, the
        micro F1 of labels, or the RMSE of numbers.
    time_limit : float or None
        Seconds for the answer, report and model included; by default 300, with a search 3,600.
    search : bool
        Choose settings on held-out training rows.
    seed : int
        Draws the folds and all else.
    jobs : int or None
        Cores; by default all.
    suite : Path or None
        Also write the suite here, with its catalogue and data beside it.
    """

    methods: Sequence[str] = ()
    exclude: Sequence[str] = ()
    metric: str | None = None
    time_limit: float | None = None
    search: bool = False
    seed: int = 0
    jobs: int | None = None
    suite: Path | None = None

    @property
    def seconds(self) -> float:
        """Seconds for the answer."""
        if self.time_limit is not None:
            return self.time_limit
        return _SECONDS_OF_SEARCH if self.search else _SECONDS

    @property
    def cores(self) -> int:
        """The number of cores."""
        return self.jobs or joblib.cpu_count()


@dataclass(frozen=True)
class ComparisonResult:
    """The answer.

    Attributes
    ----------
    board : DataFrame
        The leaderboard.
    workspace : Workspace
        Where all of it is.
    end : FitsEnd
        Whether all was done.
    watch : RunProgress
        The runs.
    winner : Series or None
        The advised line of the leaderboard; None where no method has a result.
    saved : bool
        Whether the winner was fitted on all rows and saved.
    note : str
        What the table stands on if it is not all that was asked for.
    """

    board: pd.DataFrame
    workspace: Workspace
    end: FitsEnd
    watch: RunProgress
    winner: pd.Series | None
    saved: bool = False
    note: str = ""


def choose(problem: Problem, options: Options) -> tuple[Methods, str]:
    """Return the methods and the metric; raise `OwnDataError` for what there is not."""
    if options.seconds <= 0:
        raise OwnDataError(f"--time-limit {options.seconds:g} is not a number of seconds above 0")
    if options.jobs is not None and options.jobs < 1:
        raise OwnDataError(f"--jobs {options.jobs} is not a number of cores")
    if options.search:
        check_held_out(problem, options.seed)
    known = list(_METRICS[problem.kind])
    default = "balanced_error" if problem.target.imbalanced else _DEFAULT_METRIC[problem.kind]
    if options.metric is not None and options.metric not in known:
        raise unknown("metric", options.metric, known)
    metric = options.metric or default
    methods = chosen_methods(
        problem.kind,
        problem.sparse,
        options.methods,
        options.exclude,
        n_rows=problem.matrix.shape[0],
        n_features=problem.n_features,
        balanced=metric == "balanced_error",
        search=options.search,
    )
    return methods, metric


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
    if problem.kind == "multiclass":
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
        strata = y if problem.kind == "multiclass" else None
        rows, _ = fold_split(len(rows), problem.n_folds, seed, strata, groups)
    fitted, _ = search_rows(y[rows], HELD_OUT, seed, None if groups is None else groups[rows])
    if problem.kind == "multiclass" and len(np.unique(y[rows][fitted])) < 2:
        raise ValueError("the training rows that are left are of one class")


def run_comparison(
    problem: Problem,
    folder: Path,
    options: Options,
    *,
    started: float | None = None,
    seen: Callable[[RunProgress, set], None] = lambda watch, done: None,
    ranked: Callable[[ComparisonResult], None] = lambda outcome: None,
) -> ComparisonResult:
    """Compare methods on a problem.

    Parameters
    ----------
    problem : Problem
        The data.
    folder : Path
        For all that is written.
    options : Options
        What the user asks for.
    started : float, optional
        When the time began, by `time.monotonic`; by default now.
    seen : callable
        Gets the runs and those that are done, while they are made.
    ranked : callable
        Gets the answer as soon as all runs are done, before report and MLflow are.

    Returns
    -------
    ComparisonResult

    Raises
    ------
    OwnDataError
        In one sentence, what can't be done.
    """
    started = time.monotonic() if started is None else started
    methods, metric = choose(problem, options)
    if options.suite is not None:
        check_suite_name(options.suite)
    share = options.seconds * options.cores / methods.count
    workspace = write_workspace(
        folder,
        problem,
        methods,
        metric=metric,
        seed=options.seed,
        time_limit=round(min(options.seconds, max(1.0, _SHARE * share)), 1),
    )
    if options.suite is not None:
        copy_suite(workspace, options.suite)
    watch = planned_runs(workspace)
    answered: list[ComparisonResult] = []

    def on_done(done: set) -> None:
        seen(watch, done)
        if len(done) == watch.n_runs and not answered:
            answered.append(_answer(workspace, watch, FitsEnd.DONE))
            ranked(answered[0])

    end = run_fits(workspace, watch, cores=options.cores, deadline=started + options.seconds, seen=on_done)
    if not answered:
        answered.append(_answer(workspace, watch, end))
        ranked(answered[0])
    outcome = replace(answered[0], end=end)
    columns_of(outcome.board).to_csv(workspace.leaderboard, index=False)
    if end is FitsEnd.INTERRUPTED:
        return outcome
    ranked_on = planned_runs(workspace)
    with reporting(workspace, ranked_on):
        if outcome.winner is None:
            return outcome
        method, classifier = outcome.winner["method"], outcome.winner["classifier"]
        save_winner(workspace, problem, ranked_on.plan, method, classifier)
    return replace(outcome, saved=True)


def _answer(workspace: Workspace, watch: RunProgress, end: FitsEnd) -> ComparisonResult:
    """Rank the methods on the same folds; if not all are done, the suite keeps only those."""
    done = watch.done()
    folds = watch.comparable(done)
    n_folds = len({run.seed for run in watch.plan.runs})
    if 0 < len(folds) < n_folds:
        keep_folds(workspace, folds)
    board = rank(workspace)
    winner, _ = advised(board)
    note = "" if len(done) == watch.n_runs else _note(watch, done, end)
    return ComparisonResult(board, workspace, end, watch, winner, note=note)


def _note(watch: RunProgress, done: set[tuple[str, str, int]], end: FitsEnd) -> str:
    """Say which folds a table stands on that lacks some runs."""
    why = "The time was over" if end is FitsEnd.TIME else "Interrupted"
    folds, seeds = watch.comparable(done), {run.seed for run in watch.plan.runs}
    n_methods = watch.n_runs // len(seeds)
    if not folds:
        return f"{why} before any method was done."
    lacking = n_methods - sum(seed == folds[0] for *_, seed in done)
    lacks = f"{lacking} of {n_methods} methods are not done"
    if len(seeds) == 1:
        return f"{why}: {lacks}."
    stands = f"{why}: the table stands on {len(folds)} of {len(seeds)} folds"
    return f"{stands}, where {lacks}." if lacking else f"{stands}, the same for all methods."


#: What is the same on all lines of a single experiment, or says how the rest was found.
OMITTED = (
    "suite",
    "experiment",
    "dataset",
    "interval",
    "refusal",
    "detectable",
    "n_to_settle",
    "compared_over",
    "gemm_equivalents",
    "on_front",
    "model_bytes",
    "grid_edge",
)


def rank(workspace: Workspace) -> pd.DataFrame:
    """Rank all methods by the records that are there; of a regression with a column ``r2``."""
    inputs = read_inputs([workspace.suite], workspace.results)
    board = leaderboard(inputs.plans[0], EXPERIMENT, inputs.records, workspace.results)
    if "test_r2" in inputs.plans[0].suite.experiments[EXPERIMENT].metrics:
        found = [(one.method, one.classifier, one.metrics.get("test_r2", np.nan)) for one in inputs.records]
        means = pd.DataFrame(found, columns=["method", "classifier", "r2"]).groupby(["method", "classifier"])
        return board.join(means.mean(), on=["method", "classifier"])
    return board


def columns_of(board: pd.DataFrame) -> pd.DataFrame:
    """Return the columns but those of `OMITTED`, the metric that it is ranked by only once."""
    metric = str(board["metric"].iloc[0]).removeprefix("test_")
    return board.drop(columns=[name for name in (*OMITTED, metric) if name in board])
