"""Methods that are compared on a user's data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.bench.registry import COMPONENTS, offered_components
from eigenbench.bench.suites.recipes import Grid, load_recipes
from eigenbench.bench.suites.steps import grid_size, with_params
from eigenbench.datasets.catalogue import CatalogueEntry
from eigenbench.own_data.table import OwnDataError, unknown
from eigenbench.own_data.target import TargetKind

#: The raw inputs; always compared, so that "no embedding helps here" can be the answer.
INPUTS = "raw"

#: Predicts the most frequent class; compared unless it is excluded, so that "no better than guessing" shows.
DUMMY = "Dummy"

#: The recipes for several labels, which need no classes, and those for sparse rows.
_FOR_LABELS = (INPUTS, "random", "pca", "pca_whitened", "fourier", "rbf_sampler", "nystroem", "random_trees")
_FOR_SPARSE = (INPUTS, "random", "fourier", "spherical", "tensor_sketch", "nystroem", "rbf_sampler")

#: Truncated singular values take the place of principal components where rows are sparse.
_SVD, _SVD_COMPONENTS = "svd", 100

#: Detectors that are contrasts of a number's values, for regression alone.
_CONTRACTED = "contracted_gem"

#: The recipes that are compared unless others are asked for: the best of the reference that are quick.
_DEFAULT = ("random", "pca", _SVD, "gem", "gem_subclasses", "gem_and_fourier", "nystroem", _CONTRACTED)

#: Needs an extra: compared if it is asked for, or, with all, if it is installed.
_WITH_EXTRA = "LGBMClassifier"


@dataclass(frozen=True)
class Predictor:
    """A classifier or regressor: its parameters, what a search tries, and the rows and weights it takes."""

    params: dict[str, Any] = field(default_factory=dict)
    grid: Grid = field(default_factory=dict)
    rows: Literal["all", "dense", "sparse"] = "all"
    weighted: bool = True
    component: str | None = None


_BOOSTING: Grid = {"learning_rate": [0.05, 0.2], "max_leaf_nodes": [7, 31]}
_FOREST: Grid = {"max_features": ["sqrt", 0.3], "min_samples_leaf": [1, 3]}
_NEIGHBORS: Grid = {"n_neighbors": [1, 3, 5, 9, 15, 25]}

#: By the kind of target: first the linear one of every embedding, then rivals, which get the inputs alone.
#: With 63 bins gradient boosting takes about six tenths of the time that 255 take. On six tables of 4,000 to
#: 10,000 rows, by folds of training rows, its error changed by -5.1 (covtype) to +0.3 points. LightGBM takes
#: every core of the machine, whatever a job has.
PREDICTORS: dict[TargetKind, dict[str, Predictor]] = {
    "multiclass": {
        "LogisticRegression": Predictor(grid={"C": [0.01, 0.1, 1.0, 10.0]}),
        DUMMY: Predictor({"strategy": "prior"}, weighted=False, component="DummyClassifier"),
        "LinearSVC": Predictor(grid={"C": [0.01, 0.1, 1.0, 10.0]}, rows="sparse"),
        "RidgeClassifier": Predictor(grid={"alpha": [0.1, 1.0, 10.0]}, rows="sparse"),
        "HistGradientBoostingClassifier": Predictor({"max_bins": 63}, _BOOSTING, rows="dense"),
        "RandomForestClassifier": Predictor(grid=_FOREST),
        "SVC": Predictor(grid={"C": [1.0, 10.0, 100.0], "gamma": [3.0e-4, 3.0e-3, 3.0e-2, 3.0e-1]}),
        "KNeighborsClassifier": Predictor(grid=_NEIGHBORS, weighted=False),
        _WITH_EXTRA: Predictor({"n_jobs": 1}, {"learning_rate": [0.05, 0.2], "num_leaves": [7, 31]}),
    },
    "multilabel": {"OneVsRestLogistic": Predictor(grid={"C": [0.1, 0.3, 1.0, 10.0]})},
    "regression": {
        "RidgeCV": Predictor({"alphas": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]}),
        DUMMY: Predictor(component="DummyRegressor"),
        "HistGradientBoostingRegressor": Predictor(grid=_BOOSTING, rows="dense"),
        "RandomForestRegressor": Predictor({"max_features": 0.3}, _FOREST),
        "KNeighborsRegressor": Predictor(grid=_NEIGHBORS),
    },
}
_LINEAR = tuple(next(iter(predictors)) for predictors in PREDICTORS.values())
LINEAR = (*_LINEAR, *(name for name, one in PREDICTORS["multiclass"].items() if one.rows == "sparse"))

#: The share of the training rows that a search is scored on.
HELD_OUT = 0.25

#: Without a search, bandwidths are what the components take from the data: a value of the grid suits tables
#: of some numbers of columns only.
_FROM_DATA: dict[str, Any] = {"nystroem__gamma": None, "rbfsampler__gamma": "scale", "kernelpca__gamma": None}

#: Rows² times columns from which SVC, whose time grows with them, is compared only if it is asked for.
_TOO_MANY_PRODUCTS = 2.5e9
_WITHOUT_SVC = "SVC is left out, as its time grows with the square of the {:,} rows: --methods names it"

#: Rows times columns times classes from which gradient boosting takes half as many, larger steps: on 8,000
#: rows of MNIST half the time and the same error.
_LARGE, _FASTER = 2.5e7, {"learning_rate": 0.2, "max_iter": 50}

#: Assumed share of the values of sparse rows that are not zero.
_DENSITY = 0.01


def seconds_of_classifier(name: str, entry: CatalogueEntry) -> float:
    """Estimate the time to fit a classifier, from tables of 1,000 to 10,000 rows, within a factor of five."""
    n, c = entry.rows_of_a_run, entry.expect.classes
    d = entry.expect.features * (_DENSITY if entry.sparse else 1.0)
    match name.removesuffix("Classifier").removesuffix("Regressor"):
        case "Dummy":
            return 0.0
        case "SVC":
            return 4e-9 * n**2 * d
        case "RandomForest":
            return 3e-6 * n * np.log2(n) * np.sqrt(d)
        case "HistGradientBoosting" | "LGBM":
            return c * (0.3 + 2e-7 * n * d)
        case "KNeighbors":
            return 1e-11 * n**2 * d
    return 1e-7 * n * d * c


def label(line: Any) -> str:
    """Name a line: the classifier alone where it gets the raw inputs and is no linear one."""
    return str(line["method"] if line["classifier"] in (*_LINEAR, NO_CLASSIFIER) else line["classifier"])


@dataclass(frozen=True)
class Methods:
    """Methods and classifiers of a comparison, in the form of a suite file; with a search all have a grid.

    The first classifier is for every embedding, the others get the raw inputs alone. The note says which of
    the usual methods is left out, and why.
    """

    methods: dict[str, dict[str, Any]]
    classifiers: dict[str, dict[str, Any]]
    search: bool
    note: str = ""

    @property
    def settings(self) -> int:
        """The most settings that a line of the leaderboard tries."""
        linear, *rivals = (grid_size(spec.get("grid", {})) for spec in self.classifiers.values())
        return max([*(linear * grid_size(spec.get("grid", {})) for spec in self.methods.values()), *rivals])

    @property
    def names(self) -> list[str]:
        """The lines of the leaderboard: the embeddings, then the rivals without one."""
        return [*self.methods, *list(self.classifiers)[1:]]


def known_methods(target: TargetKind, sparse: bool) -> list[str]:
    """Return the names that a user can ask for."""
    recipes = [name for name in load_recipes() if target == "multiclass" or name in _FOR_LABELS]
    if sparse:
        recipes = [*(name for name in recipes if name in _FOR_SPARSE), _SVD]
    if target == "regression":
        recipes.append(_CONTRACTED)
    taken = ("all", "sparse" if sparse else "dense")
    _, *rivals = (name for name, one in PREDICTORS[target].items() if one.rows in taken)
    return [*recipes, *rivals, *offered_components()]


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
    predictors, note = PREDICTORS[target], ""
    if "all" in methods:
        wanted = {name for name in known if name != _WITH_EXTRA or _is_installed(name)}
    else:
        wanted = set(methods or {*_DEFAULT, *predictors} - {_WITH_EXTRA})
    if n_rows**2 * n_features > _TOO_MANY_PRODUCTS and "SVC" in wanted and "SVC" not in (*methods, *exclude):
        wanted.remove("SVC")
        note = _WITHOUT_SVC.format(n_rows)
    names = [name for name in known if name in {INPUTS, DUMMY, *wanted} and name not in exclude]
    embeddings = {}
    for name in names:
        if found := _embedding(name, sparse, n_rows, n_features, search):
            embeddings[name] = {"steps": found[0]} | ({"grid": found[1]} if search else {})
    classifiers: dict[str, dict[str, Any]] = {}
    for name in (next(iter(predictors)), *(name for name in names if name not in embeddings)):
        one = predictors.get(name, Predictor(weighted=False))
        params = one.params | ({"class_weight": "balanced"} if balanced and one.weighted else {})
        if one.rows == "dense" and n_rows * n_features * n_classes > _LARGE and not search:
            params |= _FASTER
        spec = {"component": one.component, "methods": [INPUTS] if classifiers else None, "params": params}
        spec["grid"] = one.grid if search else None
        classifiers[name] = {key: value for key, value in spec.items() if value is not None}
    return Methods(embeddings, classifiers, search, note)


def _check_names(known: list[str], methods: Sequence[str], exclude: Sequence[str]) -> None:
    for name in (*methods, *exclude):
        if name not in known and name != "all":
            raise unknown("method", name, known)
    if "all" in exclude:
        raise OwnDataError("--exclude all leaves nothing to compare: name single methods")
    if INPUTS in exclude:
        raise OwnDataError(f"{INPUTS!r}, the raw inputs, is what all others are compared with: it stays")
    if _WITH_EXTRA in methods and _WITH_EXTRA not in exclude and not _is_installed(_WITH_EXTRA):
        raise OwnDataError(f"{_WITH_EXTRA} needs: pip install 'eigenbench[{COMPONENTS[_WITH_EXTRA].extra}]'")


def _is_installed(name: str) -> bool:
    return find_spec(COMPONENTS[name].module) is not None


def _embedding(
    name: str, sparse: bool, n_rows: int, n_features: int, search: bool
) -> tuple[list[Any], Grid] | None:
    """Return the steps of an embedding and what a search tries, or None for a predictor.

    Recipes are at the middle of their grid unless it is searched. Sparse rows are not centred.
    """
    scaled: list[Any] = [{"StandardScaler": {}}]
    if name == _SVD:
        return [{"TruncatedSVD": {"n_components": min(_SVD_COMPONENTS, n_features - 1)}}, *scaled], {}
    if name == _CONTRACTED:
        return [{"ContractedGEM": {}}, {"SignedPowers": {}}, *scaled], {}
    if name not in load_recipes():
        offered = offered_components().get(name)
        embeds = offered is not None and hasattr(offered.load(), "transform")
        return ([{name: {}}, *([] if sparse else scaled)], {}) if embeds else None
    recipe = load_recipes()[name]
    fixed = {} if search else recipe.grid
    middle = {key: _FROM_DATA.get(key, tried[len(tried) // 2]) for key, tried in fixed.items()}
    if sparse and "nystroem__gamma" in middle:
        middle["nystroem__gamma"] = 1.0  # for rows of length 1, whose squared distances are up to 2
    steps = [
        {step.component: dict(step.params)}
        for step in with_params(recipe.steps, middle)
        if not (sparse and step.component == "StandardScaler")
    ]
    if name == "lda" and 0 < n_rows < n_features:
        # A problem of n × n rather than d × d; it takes no shrinkage.
        discriminants = "LinearDiscriminantAnalysis"
        return [{discriminants: {"solver": "svd"}} if discriminants in one else one for one in steps], {}
    return [{"Normalizer": {}}, *steps] if sparse and name == "nystroem" else steps, recipe.grid
