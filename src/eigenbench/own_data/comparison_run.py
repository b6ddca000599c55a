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
from eigenbench.own_data.compared_methods import DUMMY, HELD_OUT, Methods, chosen_methods, label
from eigenbench.own_data.more_rows import METHODS, curve_sentences, curve_sizes
from eigenbench.own_data.problem import Problem
from eigenbench.own_data.progress import FINISH_S, Done, FitsEnd, RunProgress, report_beside, run_fits
from eigenbench.own_data.table import OwnDataError, unknown
from eigenbench.own_data.winner import advised, save_winner
from eigenbench.own_data.workspace import (
    CURVE,
    EXPERIMENT,
    Workspace,
    add_curve,
    check_suite_path,
    copy_suite,
    keep_folds,
    locked_workspace,
    write_workspace,
)
from eigenbench.reporting.inputs import read_inputs
from eigenbench.reporting.leaderboard import leaderboard

#: Seconds for the answer by default, and with a search.
_SECONDS, _SECONDS_OF_SEARCH = 300.0, 3600.0

#: Seeds of runs have 32 bits; each fold takes one.
_SEEDS = 2**32

#: By the kind of target.
_METRICS = {
    "multiclass": MULTICLASS_METRICS,
    "multilabel": MULTILABEL_METRICS,
    "regression": REGRESSION_METRICS,
}
_DEFAULT_METRIC = {"multiclass": "error", "multilabel": "micro_f1", "regression": "rmse"}

#: A fit may take so many times its equal share of the time, if there were but one fold.
_SHARE = 2.0

#: The share of the time that is kept for a learning curve.
_CURVE_SHARE = 0.5


@dataclass(frozen=True)
class Options:
    """Request of the user; see `eigenbench.compare`.

    The suite is also written to the path ``suite``, with its catalogue and data beside it.
    """

    methods: Sequence[str] = ()
    exclude: Sequence[str] = ()
    metric: str | None = None
    time_limit: float | None = None
    search: bool = False
    curve: bool = False
    seed: int = 0
    jobs: int | None = None
    suite: Path | None = None

    @property
    def seconds(self) -> float:
        """Seconds for the answer."""
        default = _SECONDS_OF_SEARCH if self.search else _SECONDS
        return default if self.time_limit is None else self.time_limit

    @property
    def cores(self) -> int:
        """The number of cores."""
        return self.jobs or joblib.cpu_count()


@dataclass(frozen=True)
class ComparisonResult:
    """The leaderboard, and where all of it is.

    The winner is the advised line, None where no method has a result, and saved if it was fitted on all rows.
    The note says what the table stands on if it is not all that was asked for. The sentences of the curve say
    whether more rows would help.
    """

    board: pd.DataFrame
    workspace: Workspace
    end: FitsEnd
    watch: RunProgress
    winner: pd.Series | None
    saved: bool = False
    note: str = ""
    curve: Sequence[str] = ()


Seen = Callable[[RunProgress, Done], None]
Ranked = Callable[[ComparisonResult], None]


def choose(problem: Problem, options: Options) -> tuple[Methods, str]:
    """Return the methods and the metric; raise `OwnDataError` for what there is not."""
    least = FINISH_S / (1 - _CURVE_SHARE * options.curve)
    if not least < options.seconds < np.inf:
        raise OwnDataError(
            f"--time-limit {options.seconds:g} is no number above {least:g}, the seconds the report needs"
        )
    if options.jobs is not None and options.jobs < 1:
        raise OwnDataError(f"--jobs {options.jobs} is not a number of cores")
    most = _SEEDS // max(problem.n_folds, 1) - 1
    if not 0 <= options.seed <= most:
        raise OwnDataError(f"--seed {options.seed} is not between 0 and {most}")
    if options.suite is not None:
        check_suite_path(options.suite)
    if options.search:
        check_held_out(problem, options.seed)
    if options.curve:
        if problem.kind != "multiclass":
            raise OwnDataError("--curve counts errors of classes, and this target has none: leave it out")
        if options.search:
            raise OwnDataError("--curve takes one setting of each method: leave --curve or --search out")
        curve_sizes(_fewest_training_rows(problem, options.seed))
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
        n_classes=problem.n_classes,
        balanced=metric == "balanced_error",
        search=options.search,
    )
    return methods, metric


def check_held_out(problem: Problem, seed: int) -> None:
    """Refuse, before any run, a fold without rows to hold out, or with one class left to fit on."""
    y, groups = problem.codes, problem.groups
    for fold in range(problem.n_folds or 1):
        try:
            rows = _training_rows(problem, seed, fold)
            number = seed * (problem.n_folds or 1) + fold
            fitted, _ = search_rows(y[rows], HELD_OUT, number, None if groups is None else groups[rows])
            if problem.kind == "multiclass" and len(np.unique(y[rows][fitted])) < 2:
                raise ValueError("the training rows that are left are of one class")
        except ValueError as error:
            named = "--search" if groups is None else "--search or --group"
            raise OwnDataError(
                f"fold {fold + 1} has no held-out rows to search by: {error}; leave {named} out"
            ) from error


def _training_rows(problem: Problem, seed: int, fold: int) -> np.ndarray:
    """Return the training rows of a fold, as its runs draw them."""
    if not problem.n_folds:
        return np.arange(problem.n_train)
    strata = problem.codes if problem.kind == "multiclass" else None
    number = seed * problem.n_folds + fold
    return fold_split(problem.n_train, problem.n_folds, number, strata, problem.groups)[0]


def _fewest_training_rows(problem: Problem, seed: int) -> int:
    return min(len(_training_rows(problem, seed, fold)) for fold in range(problem.n_folds or 1))


def run_comparison(
    problem: Problem,
    folder: Path,
    options: Options,
    *,
    started: float | None = None,
    seen: Seen = lambda watch, done: None,
    ranked: Ranked = lambda outcome: None,
) -> ComparisonResult:
    """Compare methods on a problem, in a folder for all that is written.

    The time began at ``started``, by `time.monotonic`. ``seen`` gets the runs and those that are done, while
    they are made; ``ranked`` gets the answer before report and MLflow have it.
    """
    started = time.monotonic() if started is None else started
    methods, metric = choose(problem, options)
    share = options.seconds * options.cores / len(methods.names)
    limit = round(min(options.seconds, max(1.0, _SHARE * share)), 1)
    with locked_workspace(folder):
        workspace = write_workspace(
            folder, problem, methods, metric=metric, seed=options.seed, time_limit=limit
        )
        if options.suite is not None:
            copy_suite(workspace, options.suite)
        return _fitted(problem, workspace, options, started + options.seconds, seen, ranked)


def _fitted(
    problem: Problem, workspace: Workspace, options: Options, deadline: float, seen: Seen, ranked: Ranked
) -> ComparisonResult:
    """Fit until the deadline, by `time.monotonic`, rank, draw the curve, report and save the winner."""
    watch = RunProgress(workspace)
    end = run_fits(
        workspace,
        watch,
        cores=options.cores,
        deadline=deadline - _CURVE_SHARE * options.seconds * options.curve,
        seen=lambda done: seen(watch, done),
    )
    outcome = _answer(workspace, watch, end)
    ranked(outcome)
    workspace.model.unlink(missing_ok=True)  # of an earlier answer
    columns_of(outcome.board).to_csv(workspace.leaderboard, index=False)
    if options.curve and outcome.winner is not None and end is not FitsEnd.INTERRUPTED:
        sizes = curve_sizes(_fewest_training_rows(problem, options.seed))
        sentences, end = _curve(outcome, sizes, options.cores, deadline - watch.seconds_to_finish(), seen)
        outcome = replace(outcome, curve=sentences, end=max(end, outcome.end, key=list(FitsEnd).index))
    if outcome.end is FitsEnd.INTERRUPTED:
        return outcome
    with report_beside(workspace):
        if outcome.winner is None:
            return outcome
        method, classifier = outcome.winner["method"], outcome.winner["classifier"]
        save_winner(workspace, problem, method, classifier)
    return replace(outcome, saved=True)


def _answer(workspace: Workspace, watch: RunProgress, end: FitsEnd) -> ComparisonResult:
    """Rank the methods on the same folds; if not all are done, the suite keeps only those."""
    done = watch.done()
    folds = watch.comparable(done)
    if 0 < len(folds) < len(watch.folds):
        keep_folds(workspace, folds)
    board = rank(workspace)
    winner, _ = advised(board)
    note = "" if len(done) == len(watch.runs) else _note(watch, done, end)
    return ComparisonResult(board, workspace, end, watch, winner, note=note)


def _note(watch: RunProgress, done: Done, end: FitsEnd) -> str:
    """Say which folds a table stands on that lacks some runs."""
    why = "The time was over" if end is FitsEnd.TIME else "Interrupted"
    folds, n_folds = watch.comparable(done), len(watch.folds)
    n_methods = len(watch.runs) // n_folds
    if not folds:
        return f"{why} before any method was done."
    lacking = n_methods - sum(run.seed == folds[0] for run in done)
    lacks = f"{lacking} of {n_methods} methods are not done"
    if n_folds == 1:
        return f"{why}: {lacks}."
    stands = f"{why}: the table stands on {len(folds)} of {n_folds} folds"
    return f"{stands}, where {lacks}." if lacking else f"{stands}, the same for all methods."


def _curve(
    outcome: ComparisonResult, sizes: list[int], cores: int, deadline: float, seen: Seen
) -> tuple[list[str], FitsEnd]:
    """Fit the best lines at four sizes of the training set, write their errors, and say what they mean."""
    workspace, board = outcome.workspace, outcome.board
    workspace.curve.unlink(missing_ok=True)
    best = board[board["rank"].notna() & (board["classifier"] != DUMMY)].head(METHODS)
    lines = {label(line): (line["method"], line["classifier"]) for line in best.to_dict("records")}
    if not lines:
        return ["No method is better than guessing: there is no learning curve."], outcome.end
    add_curve(workspace, lines, sizes)
    watch = RunProgress(workspace, CURVE)
    end = run_fits(workspace, watch, cores=cores, deadline=deadline, seen=lambda done: seen(watch, done))
    found = [
        (run.method, run.seed, size, error)
        for run in watch.runs
        if (record := watch.record(run))
        for size, error in record["curves"].get("test_error_by_training_rows", ())
    ]
    table = pd.DataFrame(found, columns=["method", "fold", "rows", "error"])
    table.to_csv(workspace.curve, index=False)
    wide = table.pivot(index="fold", columns=["method", "rows"], values="error")
    wide = wide.reindex(watch.folds, columns=pd.MultiIndex.from_product([lines, sizes]))
    return curve_sentences({name: wide[name] for name in lines}), end


#: What is the same on all lines of a single experiment, or says how the rest was found.
OMITTED = (
    *("suite", "experiment", "dataset", "interval", "refusal", "detectable", "n_to_settle"),
    *("compared_over", "gemm_equivalents", "on_front", "model_bytes", "grid_edge"),
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
