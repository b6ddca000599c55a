"""Which methods are compared on a user's data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from eigenbench.experiments.recipes import RECIPES
from eigenbench.experiments.steps import with_params
from eigenbench.own_data.errors import OwnDataError, unknown
from eigenbench.registry import COMPONENTS

#: The raw inputs; always compared, so that "no embedding helps here" can be the answer.
INPUTS = "raw"

#: The recipes that are compared unless others are asked for: of each family one that is quick by default.
_DEFAULT = ("random", "pca", "lda", "gem", "deep_gem", "fourier", "nystroem")

#: The recipes for several labels, which need no classes, and those for sparse rows.
_FOR_LABELS = (INPUTS, "random", "pca", "pca_whitened", "fourier", "rbf_sampler", "nystroem", "random_trees")
_FOR_SPARSE = (INPUTS, "random", "fourier", "spherical", "tensor_sketch", "nystroem", "rbf_sampler")

_LINEAR = "LogisticRegression"

#: Classifiers that get the raw inputs alone.
RIVALS = ("HistGradientBoostingClassifier", "RandomForestClassifier", "SVC", "KNeighborsClassifier")

#: Of these, those that need an extra: compared if they are asked for, or, with all, if they are installed.
_MORE_RIVALS = ("LGBMClassifier",)


@dataclass(frozen=True)
class Methods:
    """What is compared.

    Attributes
    ----------
    steps : dict
        Of each embedding by name, in the form of a suite file.
    classifiers : dict
        In the form of a suite file: one for every embedding, and those that get the raw inputs alone.
    """

    steps: dict[str, list[Any]]
    classifiers: dict[str, dict[str, Any]]

    @property
    def count(self) -> int:
        """The number of lines of the leaderboard."""
        return len(self.steps) + len(self.classifiers) - 1

    @property
    def names(self) -> list[str]:
        """The embeddings, then the rivals without one."""
        return [*self.steps, *list(self.classifiers)[1:]]


def known_methods(multilabel: bool, sparse: bool) -> list[str]:
    """Return the names that a user can ask for."""
    recipes = [name for name in RECIPES if not multilabel or name in _FOR_LABELS]
    recipes = [name for name in recipes if not sparse or name in _FOR_SPARSE]
    return recipes if multilabel else [*recipes, *RIVALS, *_MORE_RIVALS]


def chosen_methods(
    multilabel: bool, sparse: bool, methods: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Methods:
    """Return the methods that the user asked for; the raw inputs are always among them.

    Parameters
    ----------
    multilabel, sparse : bool
        What the data are.
    methods : sequence of str
        Recipes and rivals; by default a selection that is quick, ``all`` for all.
    exclude : sequence of str
        Those to leave out.

    Raises
    ------
    OwnDataError
        For an unknown name, one that needs an extra that is not installed, or if the raw inputs are excluded.
    """
    known = known_methods(multilabel, sparse)
    for name in (*methods, *exclude):
        if name not in known and name != "all":
            raise unknown("method", name, known)
    if INPUTS in exclude:
        raise OwnDataError(f"{INPUTS!r}, the raw inputs, is what all others are compared with: it stays")
    for name in methods:
        if name in _MORE_RIVALS and name not in exclude and not _is_installed(name):
            raise OwnDataError(f"{name} needs: pip install 'eigenbench[{COMPONENTS[name].extra}]'")
    every = [name for name in known if name not in _MORE_RIVALS or _is_installed(name)]
    wanted = every if "all" in methods else methods or [*_DEFAULT, *RIVALS]
    names = [name for name in known if name in (INPUTS, *wanted) and name not in exclude]
    steps = {name: _steps(name, sparse) for name in names if name in RECIPES}
    if multilabel:
        return Methods(steps, {"OneVsRestLogistic": {}})
    rivals: dict[str, dict[str, Any]] = {name: {"methods": [INPUTS]} for name in names if name not in RECIPES}
    return Methods(steps, {_LINEAR: {}, **rivals})


def _is_installed(rival: str) -> bool:
    return find_spec(COMPONENTS[rival].module) is not None


def _steps(name: str, sparse: bool) -> list[Any]:
    """Return the steps of a recipe at the middle of its grid; sparse rows are not centred."""
    recipe = RECIPES[name]
    middle = {key: values[len(values) // 2] for key, values in recipe.grid.items()}
    return [
        {step.component: dict(step.params)}
        for step in with_params(recipe.steps, middle)
        if not (sparse and step.component == "StandardScaler")
    ]
