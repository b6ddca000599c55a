"""The best method, fitted on all rows and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.pipeline import Pipeline

from eigenbench.bench.jobs.pipelines import fit_features
from eigenbench.bench.jobs.plan import MethodPlan, SuitePlan
from eigenbench.bench.jobs.search import fit_classifier, with_candidate
from eigenbench.bench.records.record import read_record
from eigenbench.bench.suites.steps import Params
from eigenbench.methods.model_file import save_model
from eigenbench.own_data.problem import Problem
from eigenbench.own_data.workspace import Workspace


def save_winner(workspace: Workspace, problem: Problem, plan: SuitePlan, method: str, classifier: str) -> Any:
    """Fit a method on all rows, those of a test file included, and write ``model.skops``.

    Its settings are those with the best score on the held-out training rows of all folds together.

    Returns
    -------
    Pipeline
        From a table like the user's, or sparse rows, to labels as the user writes them.
    """
    (found,) = (one for one in plan.methods if one.spec.method == method)
    spec, seed = found.spec, found.seeds[0]
    X, y = problem.matrix, problem.target.labels
    if problem.multilabel:
        y = csr_array(y)
    steps_of, step = with_candidate(spec, classifier, settings(workspace, found, classifier))
    features = fit_features(spec, steps_of, X, y, seed=seed, moments=None)
    model, _ = fit_classifier(spec, step, features, X, y, seed)
    steps = [] if problem.encoder is None else [("table", problem.encoder)]
    whole = Pipeline([*steps, ("model", model)])
    save_model(workspace.model, whole)
    return whole


def settings(workspace: Workspace, method: MethodPlan, classifier: str) -> Params:
    """Return the parameters of the search with the best mean score over folds; none without a search.

    Those that have a score on more folds come first, and of equal ones the first of the search.
    """
    runs = [run for run in method.runs if run.classifier == classifier]
    records = [read_record(workspace.results / run.record) for run in runs]
    searches = [record.search.candidates for record in records if record.search]
    if not searches:
        return {}
    assert method.spec.validation is not None
    scores = np.array([[candidate.score for candidate in search] for search in searches], dtype=float)
    missing = np.isnan(scores).sum(axis=0)
    total = np.nansum(scores, axis=0) / np.maximum(1, len(scores) - missing)
    best = np.lexsort([-total if method.spec.validation.higher_is_better else total, missing])[0]
    return dict(searches[0][best].params)


#: Of a file's suffix, how to read a new one of its kind: an import and the rows.
_READING = {
    ".tsv": ("import pandas", 'pandas.read_csv("new.tsv", sep="\\t")'),
    ".parquet": ("import pandas", 'pandas.read_parquet("new.parquet")'),
    ".feather": ("import pandas", 'pandas.read_feather("new.feather")'),
    ".arff": (
        "from eigenbench.own_data.arff_table import read_arff_table",
        'read_arff_table("new.arff")',
    ),
    "": ("from eigenbench.own_data.images import read_image_folder", 'read_image_folder("new")[0]'),
}


def how_to_use(workspace: Workspace, problem: Problem) -> str:
    """Return three lines of Python that load the model and use it on a new file."""
    if problem.sparse:
        base = f"n_features={problem.n_features}, zero_based={not problem.first_column}"
        reading = "from sklearn.datasets import load_svmlight_file"
        rows = f'load_svmlight_file("new.svm", {base})[0]'
    elif problem.name.lower().endswith(".npz"):
        assert problem.encoder is not None
        width = len(problem.encoder.columns_) + len(problem.encoder.left_out_)
        reading, rows = "import numpy", f'numpy.load("new.npz")["X"].reshape(-1, {width})'
    else:
        default = ("import pandas", 'pandas.read_csv("new.csv")')
        reading, rows = _READING.get(Path(problem.name).suffix.lower(), default)
    load = f'load_model("{workspace.model}")'
    return f"{reading}\nfrom eigenbench import load_model\nprint({load}.predict({rows}))"
