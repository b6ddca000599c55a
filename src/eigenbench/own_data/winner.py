"""The advised method: the simplest of those that tie with the best, fitted on all rows and saved."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from eigenbench.bench.jobs.pipelines import fit_features
from eigenbench.bench.jobs.plan import MethodPlan, load_plan
from eigenbench.bench.jobs.train import fit_classifier, with_candidate
from eigenbench.bench.records.record import Record, read_record
from eigenbench.bench.suites.steps import Params
from eigenbench.methods.model_file import save_model
from eigenbench.own_data.compared_methods import DUMMY, INPUTS, LINEAR
from eigenbench.own_data.delimited_text import COMPRESSED
from eigenbench.own_data.problem import Problem
from eigenbench.own_data.workspace import EXPERIMENT, Workspace


def advised(board: pd.DataFrame) -> tuple[pd.Series | None, pd.DataFrame]:
    """Return the simplest of the lines that tie with the best, or None, and the other lines that tie.

    The simplest is the best linear classifier on the raw inputs, else what is fastest to fit; where ties are
    unknown it is the best. A guess is never advised beside another. It is None where no method has a rank.
    """
    ranked = board[board["rank"].notna()]
    ranked = ranked if ranked["classifier"].eq(DUMMY).all() else ranked[ranked["classifier"] != DUMMY]
    if ranked.empty:
        return None, ranked
    tied = ranked[ranked["tied"].fillna(False)]
    if tied.empty:
        return ranked.iloc[0], tied
    linear = tied["method"].eq(INPUTS) & tied["classifier"].isin(LINEAR)
    chosen = linear.idxmax() if linear.any() else tied["seconds"].idxmin()
    return tied.loc[chosen], tied.drop(index=chosen)


def save_winner(workspace: Workspace, problem: Problem, method: str, classifier: str) -> None:
    """Fit a method on all rows, those of a test file included, and write ``model.skops``.

    Its settings are those with the best score on the held-out training rows of all folds together. The model
    takes rows like the user's and returns the user's labels; ``fitted_on_`` says on which rows it was fitted.
    With several labels a row, ``label_names_`` are those of the columns, and a label is predicted from the
    probability ``threshold_`` on, the mean over the folds.
    """
    plan = load_plan(workspace.suite)
    (found,) = (one for one in plan.of(EXPERIMENT) if one.spec.method == method)
    spec, seed = found.spec, found.seeds[0]
    X, y = problem.matrix, problem.target.labels
    if problem.kind == "multilabel":
        y = csr_array(y)
    steps_of, step = with_candidate(spec, classifier, settings(workspace, found, classifier))
    with warnings.catch_warnings(), threadpool_limits(1):  # as the folds; report and import run beside
        warnings.simplefilter("ignore", ConvergenceWarning)  # the log has those of the folds
        features = fit_features(spec, steps_of, X, y, seed=seed)
        model, _ = fit_classifier(spec, step, features, X, y, seed)
    steps = [] if problem.encoder is None else [("table", problem.encoder)]
    whole = Pipeline([*steps, ("model", model)])
    whole.fitted_on_ = rows_of(problem)
    if problem.kind == "multilabel":
        whole.label_names_ = list(map(str, problem.target.names))
        chosen = f"threshold__{plan.suite.experiments[EXPERIMENT].headline.removeprefix('test_')}"
        records = _records(workspace, found, classifier)
        thresholds = [float(record.params[chosen]) for record in records if chosen in record.params]
        whole.threshold_ = float(np.mean(thresholds or [0.5]))
    save_model(workspace.model, whole)


def rows_of(problem: Problem) -> str:
    """Say which rows a saved model is fitted on."""
    n, n_train = problem.matrix.shape[0], problem.n_train
    if problem.n_folds:
        return f"all {n:,} rows of {problem.name}"
    return f"the {n_train:,} training rows of {problem.name} and the {n - n_train:,} test rows"


def settings(workspace: Workspace, method: MethodPlan, classifier: str) -> Params:
    """Return the parameters of the search with the best mean score over folds; none without a search.

    Those that have a score on more folds come first, and of equal ones the first of the search.
    """
    records = _records(workspace, method, classifier)
    searches = [record.search.candidates for record in records if record.search]
    if not searches:
        return {}
    assert method.spec.validation is not None
    scores = np.array([[candidate.score for candidate in search] for search in searches], dtype=float)
    missing = np.isnan(scores).sum(axis=0)
    total = np.nansum(scores, axis=0) / np.maximum(1, len(scores) - missing)
    best = np.lexsort([-total if method.spec.validation.higher_is_better else total, missing])[0]
    return dict(searches[0][best].params)


def _quoted(path: Path) -> str:
    """Return a path as Python reads it, in double quotes where these do."""
    return repr(str(path)) if set(str(path)) & set('"\\') else f'"{path}"'


def _records(workspace: Workspace, method: MethodPlan, classifier: str) -> list[Record]:
    """Return the records of a method and classifier, one for each fold."""
    runs = [run for run in method.runs if run.classifier == classifier]
    return [read_record(workspace.results / run.record) for run in runs]


def how_to_use(
    workspace: Workspace, problem: Problem, *, header: bool = True, trusted: Sequence[str] = ()
) -> str:
    """Return lines of Python that load the model, with modules that are trusted, and use it on a new file."""
    name = Path(problem.name)
    new = f"new{''.join(name.suffixes[-2:])}" if name.suffix.lower() in COMPRESSED else f"new{name.suffix}"
    npz = name.suffix.lower() == ".npz"
    if problem.sparse and npz:
        imports = "import numpy\nfrom scipy.sparse import csr_array\nfrom eigenbench import load_model"
        imports += f'\nfile = numpy.load("{new}")'
        rows = 'csr_array((file["X_data"], file["X_indices"], file["X_indptr"]), shape=file["X_shape"])'
    elif problem.sparse:
        imports = "from eigenbench import load_model\nfrom eigenbench.own_data.svmlight_rows import read_rows"
        rows = f'read_rows("{new}", n_features={problem.n_features}, first_column={problem.first_column})'
    elif npz and problem.encoder is not None:
        imports = f'import numpy\nfrom eigenbench import load_model\nX = numpy.load("{new}")["X"]'
        rows = "X.reshape(len(X), -1)"
    elif problem.image_shape is not None:
        imports = "from eigenbench import load_model\nfrom eigenbench.own_data.images import read_images"
        rows = f'read_images("{new}", {problem.image_shape})'
    else:
        imports = "from eigenbench import load_model, read_table"
        rows = f'read_table("{new}"{"" if header else ", header=False"})'
    modules = f", trusted={list(trusted)}" if trusted else ""
    load = f"{imports}\nmodel = load_model({_quoted(workspace.model)}{modules})"
    if problem.kind == "multilabel":
        return (
            f"{load}\nprint(model.predict_proba({rows}) >= model.threshold_)  # columns: model.label_names_"
        )
    return f"{load}\nprint(model.predict({rows}))"
