"""Steps of a pipeline as data: an estimator's name and its parameters, and what a search varies in them."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Container, Iterator
from typing import Any, Literal

from eigenbench.datasets.strict_model import StrictModel

Params = dict[str, Any]

#: A search with a given number of candidates fits so many embeddings at most.
MAX_EMBEDDINGS = 8

#: What a component is in a run: a step transforms rows, a classifier predicts classes.
Role = Literal["step", "classifier"]


class Step(StrictModel):
    """One estimator of a pipeline: the name of a component and its parameters."""

    component: str
    params: Params = {}


def as_step(value: Any, known: Container[str]) -> tuple[str, Params] | None:
    """Return name and parameters of a parameter value that is a component, ``{Name: {parameter: value}}``."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, params),) = value.items()
        if isinstance(name, str) and name in known:
            return name, params or {}
    return None


def nested_steps(value: Any, known: Container[str]) -> Iterator[tuple[str, Params]]:
    """Yield name and parameters of every component in a parameter value, at any depth of lists."""
    step = as_step(value, known)
    if step is not None:
        yield step
        value = list(step[1].values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from nested_steps(item, known)


def step_names(steps: tuple[Step, ...]) -> list[str]:
    """Name pipeline steps by their classes as ``make_pipeline`` does: lower-case, ``-2`` for the second."""
    lowered = [step.component.rpartition(":")[2].lower() for step in steps]
    names = []
    for index, name in enumerate(lowered):
        if lowered.count(name) > 1:
            name = f"{name}-{lowered[: index + 1].count(name)}"
        names.append(name)
    return names


def flat_params(steps: tuple[Step, ...]) -> Params:
    """Return the parameters of a pipeline as ``step__parameter``."""
    return {
        f"{name}__{key}": value
        for name, step in zip(step_names(steps), steps, strict=True)
        for key, value in step.params.items()
    }


def grid_points(grid: dict[str, list[Any]]) -> list[Params]:
    """Return every combination of a search grid, in declared order; one empty point for an empty grid."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def sampled_points(grid: dict[str, list[Any]], n_points: int) -> list[Params]:
    """Return all points of a grid, or as many as asked for, by a fixed seed.

    Where a parameter has as many values, points are a Latin hypercube: the values of each parameter occur
    equally often (McKay, Beckman and Conover, "A comparison of three methods for selecting values of input
    variables in the analysis of output from a computer code", Technometrics 21, 1979). Otherwise they are
    drawn without replacement.
    """
    points = grid_points(grid)
    if len(points) <= n_points:
        return points
    draw = random.Random(0)
    if max(map(len, grid.values())) < n_points:
        return [points[place] for place in sorted(draw.sample(range(len(points)), n_points))]
    places = [[k * len(values) // n_points for k in range(n_points)] for values in grid.values()]
    for column in places:
        draw.shuffle(column)
    return [
        {name: values[place] for (name, values), place in zip(grid.items(), row, strict=True)}
        for row in sorted(zip(*places, strict=True))
    ]


def grid_size(grid: dict[str, list[Any]]) -> int:
    """Return the number of points of a grid, without making them."""
    return math.prod(len(values) for values in grid.values())


def with_params(steps: tuple[Step, ...], point: Params) -> tuple[Step, ...]:
    """Put one point of a search grid, with keys ``step__parameter``, into the steps of a pipeline."""
    changes: dict[str, Params] = {}
    for key, value in point.items():
        name, _, parameter = key.partition("__")
        changes.setdefault(name, {})[parameter] = value
    return tuple(
        Step(component=step.component, params={**step.params, **changes.get(name, {})})
        for name, step in zip(step_names(steps), steps, strict=True)
    )
