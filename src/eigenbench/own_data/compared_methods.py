"""Methods that are compared on a user's data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.bench.registry import COMPONENTS, offered_components
from eigenbench.bench.suites.recipes import RECIPES, Grid
from eigenbench.bench.suites.steps import grid_size, with_params
from eigenbench.datasets.catalogue import CatalogueEntry
from eigenbench.own_data.table import OwnDataError, unknown
from eigenbench.own_data.target import TargetKind

#: The raw inputs; always compared, so that "no embedding helps here" can be the answer.
INPUTS = "raw"

#: The recipes that are compared unless others are asked for: the best of the reference that are quick.
_DEFAULT = ("random", "pca", "svd", "gem", "gem_subclasses", "gem_and_fourier", "nystroem")

#: The recipes for several labels, which need no classes, and those for sparse rows.
_FOR_LABELS = (INPUTS, "random", "pca", "pca_whitened", "fourier", "rbf_sampler", "nystroem", "random_trees")
_FOR_SPARSE = (INPUTS, "random", "fourier", "spherical", "tensor_sketch", "nystroem", "rbf_sampler")

#: Truncated singular values take the place of principal components where rows are sparse.
_SVD, _SVD_COMPONENTS = "svd", 100

#: The classifier of every embedding: of classes, of several labels, and of numbers.
LINEAR = ("LogisticRegression", "OneVsRestLogistic", "RidgeCV")

#: Linear classifiers that get sparse rows too.
LINEAR_OF_SPARSE = ("LinearSVC", "RidgeClassifier")

#: Predicts the most frequent class; compared unless it is excluded, so that "no better than guessing" shows.
DUMMY = "Dummy"

#: Classifiers that get the raw inputs alone.
RIVALS = (
    DUMMY,
    *LINEAR_OF_SPARSE,
    "HistGradientBoostingClassifier",
    "RandomForestClassifier",
    "SVC",
    "KNeighborsClassifier",
)

#: In a regression.
REGRESSORS = (DUMMY, "HistGradientBoostingRegressor", "RandomForestRegressor", "KNeighborsRegressor")

#: Detectors that are contrasts of a number's values, for regression alone.
_CONTRACTED = "contracted_gem"

#: Of the rivals, those for dense rows only, for sparse rows only, and without weights of classes.
_DENSE, _SPARSE, _UNWEIGHTED = (
    ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
    LINEAR_OF_SPARSE,
    (DUMMY, "KNeighborsClassifier"),
)

#: Those that need an extra: compared if they are asked for, or, with all, if they are installed.
_MORE_RIVALS = ("LGBMClassifier",)

#: LightGBM takes every core of the machine, whatever a job has. With 63 bins gradient boosting takes about
#: six tenths of the time that 255 take. On six tables of 4,000 to 10,000 rows, by folds of training rows,
#: its error changed by -5.1 (covtype) to +0.3 points.
_PARAMS: dict[str, dict[str, Any]] = {
    "LGBMClassifier": {"n_jobs": 1},
    DUMMY: {"strategy": "prior"},
    "HistGradientBoostingClassifier": {"max_bins": 63},
    "RandomForestRegressor": {"max_features": 0.3},
    "RidgeCV": {"alphas": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]},
}

#: What a search tries of the classifiers, as in the suite `comparison`, and the share of the training rows
#: that it is scored on.
GRIDS: dict[str, Grid] = {
    LINEAR[0]: {"C": [0.01, 0.1, 1.0, 10.0]},
    "OneVsRestLogistic": {"C": [0.1, 0.3, 1.0, 10.0]},
    "LinearSVC": {"C": [0.01, 0.1, 1.0, 10.0]},
    "RidgeClassifier": {"alpha": [0.1, 1.0, 10.0]},
    "SVC": {"C": [1.0, 10.0, 100.0], "gamma": [3.0e-4, 3.0e-3, 3.0e-2, 3.0e-1]},
    "KNeighborsClassifier": {"n_neighbors": [1, 3, 5, 9, 15, 25]},
    "RandomForestClassifier": {"max_features": ["sqrt", 0.3], "min_samples_leaf": [1, 3]},
    "HistGradientBoostingClassifier": {"learning_rate": [0.05, 0.2], "max_leaf_nodes": [7, 31]},
    "LGBMClassifier": {"learning_rate": [0.05, 0.2], "num_leaves": [7, 31]},
}
HELD_OUT = 0.25

#: Without a search, bandwidths are what the components take from the data: a value of the grid suits tables
#: of some numbers of columns only.
_FROM_DATA = {"nystroem__gamma": None, "rbfsampler__gamma": "scale", "kernelpca__gamma": None}

#: Rows² times columns from which SVC, whose time grows with them, is compared only if it is asked for.
_TOO_MANY_PRODUCTS = 2.5e9
#: Rows times columns times classes from which gradient boosting takes half as many, larger steps: on 8,000
#: rows of MNIST half the time and the same error.
_LARGE, _FASTER = 2.5e7, {"learning_rate": 0.2, "max_iter": 50}
_WITHOUT_SVC = "SVC is left out, as its time grows with the square of the {:,} rows: --methods names it"

#: Assumed share of the values of sparse rows that are not zero.
_DENSITY = 0.01


def seconds_of_classifier(name: str, entry: CatalogueEntry) -> float:
    """Estimate the time to fit a classifier to a dataset, so that the cheap ones come first.

    Measured on tables of 1,000 to 10,000 rows; right within a factor of five.
    """
    n, c = entry.rows_of_a_run, entry.expect.classes
    d = entry.expect.features * (_DENSITY if entry.sparse else 1.0)
    match name:
        case "Dummy":
            return 0.0
        case "SVC":
            return 4e-9 * n**2 * d
        case "RandomForestClassifier" | "RandomForestRegressor":
            return 3e-6 * n * np.log2(n) * np.sqrt(d)
        case "HistGradientBoostingClassifier" | "HistGradientBoostingRegressor" | "LGBMClassifier":
            return c * (0.3 + 2e-7 * n * d)
        case "KNeighborsClassifier" | "KNeighborsRegressor":
            return 1e-11 * n**2 * d
    return 1e-7 * n * d * c


def label(line: Any) -> str:
    """Name a line: the classifier alone where it gets the raw inputs and is no linear one."""
    return str(line["method"] if line["classifier"] in (*LINEAR, NO_CLASSIFIER) else line["classifier"])


@dataclass(frozen=True)
class Methods:
    """Methods and settings of a comparison, in the form of a suite file.

    The first classifier is for every embedding, the others get the raw inputs alone. There are grids with a
    search only. The note says which of the usual methods is left out, and why.
    """

    steps: dict[str, list[Any]]
    classifiers: dict[str, dict[str, Any]]
    grids: dict[str, Grid]
    note: str = ""

    @property
    def searches(self) -> bool:
        """True if settings are chosen on validation rows."""
        return bool(self.grids)

    @property
    def settings(self) -> int:
        """The most settings that a line of the leaderboard tries."""
        linear, *rivals = (grid_size(spec.get("grid", {})) for spec in self.classifiers.values())
        return max([linear * grid_size(grid) for grid in self.grids.values()] + rivals, default=1)

    @property
    def count(self) -> int:
        """The number of lines of the leaderboard."""
        return len(self.steps) + len(self.classifiers) - 1

    @property
    def names(self) -> list[str]:
        """The embeddings, then the rivals without one."""
        return [*self.steps, *list(self.classifiers)[1:]]


def known_methods(target: TargetKind, sparse: bool) -> list[str]:
    """Return the names that a user can ask for."""
    recipes = [name for name in RECIPES if target == "multiclass" or name in _FOR_LABELS]
    if sparse:
        recipes = [*(name for name in recipes if name in _FOR_SPARSE), _SVD]
    absent = _DENSE if sparse else _SPARSE
    if target == "regression":
        recipes.append(_CONTRACTED)
    rivals = {"multiclass": (*RIVALS, *_MORE_RIVALS), "multilabel": (), "regression": REGRESSORS}[target]
    return [*recipes, *(name for name in rivals if name not in absent), *offered_components()]


def chosen_methods(
    target: TargetKind,
    sparse: bool,
    methods: Sequence[str] = (),
    exclude: Sequence[str] = (),
    *,
    n_rows: int = 0,
    n_features: int = _SVD_COMPONENTS + 1,
    n_classes: int = 1,
    balanced: bool = False,
    search: bool = False,
) -> Methods:
    """Return the methods that the user asked for; the raw inputs are always among them.

    By default a selection that is quick; ``all`` names all recipes, rivals, and components of installed
    packages. ``balanced`` weights each class by the inverse of its share of the rows, as the balanced error
    does; ``search`` chooses settings on held-out training rows. An unknown name, one that needs an extra that
    is not installed, and the exclusion of the raw inputs are an `OwnDataError`.
    """
    known = known_methods(target, sparse)
    _check_names(known, methods, exclude)
    offered = offered_components()
    every = [name for name in known if name not in _MORE_RIVALS or _is_installed(name)]
    wanted = every if "all" in methods else methods or [*_DEFAULT, *RIVALS, _CONTRACTED, *REGRESSORS]
    note = ""
    too_large = n_rows**2 * n_features > _TOO_MANY_PRODUCTS
    if too_large and "SVC" in wanted and "SVC" not in (*methods, *exclude):
        wanted = [name for name in wanted if name != "SVC"]
        note = "" if target != "multiclass" else _WITHOUT_SVC.format(n_rows)
    names = [name for name in known if name in (INPUTS, DUMMY, *wanted) and name not in exclude]
    recipes = [name for name in names if name in RECIPES]
    steps = {name: _steps(name, sparse, search) for name in recipes}
    if _SVD in names:
        svd = {"n_components": min(_SVD_COMPONENTS, n_features - 1)}
        steps[_SVD] = [{"TruncatedSVD": svd}, {"StandardScaler": {}}]
    if _CONTRACTED in names:
        steps[_CONTRACTED] = [{"ContractedGEM": {}}, {"SignedPowers": {}}, {"StandardScaler": {}}]
    transformers = [name for name in names if name in offered and hasattr(offered[name].load(), "transform")]
    steps |= {name: [{name: {}}, *([] if sparse else [{"StandardScaler": {}}])] for name in transformers}
    grids = {name: RECIPES[name].grid if name in RECIPES else {} for name in steps} if search else {}
    if "lda" in steps and 0 < n_rows < n_features:
        steps["lda"] = [_without_shrinkage(step) for step in steps["lda"]]
        grids |= {"lda": {}} if search else {}
    rivals = [name for name in names if name not in steps]
    linear = LINEAR[("multiclass", "multilabel", "regression").index(target)]
    weights = {"class_weight": "balanced"} if balanced else {}
    classifiers: dict[str, dict[str, Any]] = {linear: {"params": _PARAMS.get(linear, {}) | weights}}
    for name in rivals:
        params = _PARAMS.get(name, {}) | ({} if name in _UNWEIGHTED else weights)
        if name in _DENSE and n_rows * n_features * n_classes > _LARGE and not search:
            params = params | _FASTER
        classifiers[name] = {"methods": [INPUTS], "params": params}
    if DUMMY in classifiers:
        guess = {"component": "DummyRegressor", "params": {}}
        classifiers[DUMMY] |= guess if target == "regression" else {"component": "DummyClassifier"}
    if search:
        classifiers = {
            name: spec | {"grid": GRIDS.get(name.replace("Regressor", "Classifier"), {})}
            for name, spec in classifiers.items()
        }
    return Methods(steps, classifiers, grids, note)


def _without_shrinkage(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step whose discriminants need the n × n rather than a d × d problem."""
    return {
        name: {"solver": "svd"} if name == "LinearDiscriminantAnalysis" else params
        for name, params in step.items()
    }


def _check_names(known: list[str], methods: Sequence[str], exclude: Sequence[str]) -> None:
    for name in (*methods, *exclude):
        if name not in known and name != "all":
            raise unknown("method", name, known)
    if INPUTS in exclude:
        raise OwnDataError(f"{INPUTS!r}, the raw inputs, is what all others are compared with: it stays")
    for name in methods:
        if name in _MORE_RIVALS and name not in exclude and not _is_installed(name):
            raise OwnDataError(f"{name} needs: pip install 'eigenbench[{COMPONENTS[name].extra}]'")


def _is_installed(rival: str) -> bool:
    return find_spec(COMPONENTS[rival].module) is not None


def _steps(name: str, sparse: bool, search: bool) -> list[Any]:
    """Return the steps of a recipe, at the middle of its grid unless it is searched.

    Sparse rows are not centred.
    """
    recipe = RECIPES[name]
    middle: dict[str, Any] = {
        key: _FROM_DATA.get(key, values[len(values) // 2])
        for key, values in recipe.grid.items()
        if not search
    }
    if sparse and "nystroem__gamma" in middle:
        middle["nystroem__gamma"] = 1.0  # for rows of length 1, whose squared distances are up to 2
    found = [
        {step.component: dict(step.params)}
        for step in with_params(recipe.steps, middle)
        if not (sparse and step.component == "StandardScaler")
    ]
    return [{"Normalizer": {}}, *found] if sparse and name == "nystroem" else found
