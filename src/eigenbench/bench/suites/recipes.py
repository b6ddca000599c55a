"""Recipes of ``methods: all``: a pipeline for each embedding on class data, and its search.

They stand in ``config/recipes.yaml``, which says how they are made. `of_width` brings them to an equal number
of features.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from eigenbench.bench.suites.parts import MethodSpec, SuiteError, SuiteModel
from eigenbench.bench.suites.steps import Step, with_params
from eigenbench.datasets.plain_yaml import explained, read_yaml
from eigenbench.datasets.project_files import project_folder

Grid = dict[str, list[Any]]

_FILE = project_folder() / "config" / "recipes.yaml"

#: The end of recipes of projections, and how many features it makes of one direction.
_POWERS = (Step(component="SignedPowers"), Step(component="StandardScaler"))
_PER_DIRECTION = 6


class Recipe(MethodSpec):
    """A pipeline, and the grid of its search.

    ``width`` is the ``step__parameter`` that sets the number of features; empty where inputs and classes set
    it. ``methods: all`` leaves out recipes without ``in_all``, which stand in the suite `recent_rivals`.
    """

    width: str = ""
    in_all: bool = True


@cache
def load_recipes(path: Path = _FILE) -> dict[str, Recipe]:
    """Return the recipes of a file; raises a SuiteError that names the file, the recipe and the key."""
    try:
        return TypeAdapter(dict[str, Recipe]).validate_python(read_yaml(path, SuiteError))
    except ValidationError as error:
        raise SuiteError(explained(path, error, SuiteModel)) from None


def of_width(recipe: Recipe, n_features: int) -> Recipe | None:
    """Return a recipe that makes a number of features, with the rest of its search; None where it cannot.

    The number is rounded down to a multiple of six where features are powers of directions. Directions whose
    number follows from inputs and classes are rotated into as many random ones as it takes.
    """
    of_directions = recipe.steps[-2:] == _POWERS
    n_units = max(1, n_features // _PER_DIRECTION if of_directions else n_features)
    if recipe.width:
        grid = {key: values for key, values in recipe.grid.items() if key != recipe.width}
        return recipe.model_copy(
            update={"steps": with_params(recipe.steps, {recipe.width: n_units}), "grid": grid}
        )
    if not of_directions:
        return None
    rotation = Step(component="RandomDirections", params={"n_components": n_units})
    return recipe.model_copy(update={"steps": (*recipe.steps[:-2], rotation, *_POWERS)})
