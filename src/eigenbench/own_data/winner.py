"""The best method, fitted on all rows and saved."""

from __future__ import annotations

from typing import Any

from scipy.sparse import csr_array
from sklearn.pipeline import Pipeline

from eigenbench.experiments.model_file import save_model
from eigenbench.experiments.pipelines import fit_features
from eigenbench.experiments.plan import SuitePlan
from eigenbench.experiments.search import classifier_step, fit_classifier
from eigenbench.own_data.problem import Problem
from eigenbench.own_data.workspace import Workspace


def save_winner(workspace: Workspace, problem: Problem, plan: SuitePlan, method: str, classifier: str) -> Any:
    """Fit a method on all rows, those of a test file included, and write ``model.skops``.

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
    features = fit_features(spec, spec.steps, X, y, seed=seed, moments=None)
    model, _ = fit_classifier(spec, classifier_step(spec, classifier, {}), features, X, y, seed)
    steps = [] if problem.encoder is None else [("table", problem.encoder)]
    whole = Pipeline([*steps, ("model", model)])
    save_model(workspace.model, whole)
    return whole


def how_to_use(workspace: Workspace, problem: Problem) -> str:
    """Return three lines of Python that load the model and use it on a new file."""
    if problem.encoder is None:
        reading, rows = "from sklearn.datasets import load_svmlight_file", 'load_svmlight_file("new.svm")[0]'
    elif not all(name.isdigit() for name in problem.encoder.columns_):
        reading, rows = "import pandas", 'pandas.read_csv("new.csv")'
    else:
        reading, rows = "import numpy", 'numpy.load("new.npy")'
    load = f'load_model("{workspace.model}")'
    return f"{reading}\nfrom eigenbench import load_model\nprint({load}.predict({rows}))"
