"""Where each method wins and loses: its places on the leaderboards of the reference results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
from reference_verdicts import reference_records, shipped_plans

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.registry import COMPONENTS
from eigenbench.bench.suites.suite import Suite
from eigenbench.reporting.formatting import metric_style
from eigenbench.reporting.leaderboard import leaderboards
from eigenbench.reporting.replicates import group_runs
from eigenbench.reproduction.reference import default_reference_folder

#: Lines at either end of a table.
SHOWN = 4


@dataclass(frozen=True)
class Place:
    """The best of the competitors that use a component, on one leaderboard.

    ``result`` is its mean with the unit, ``best`` the best of the others with its name, ``of`` the number of
    competitors, and ``tied`` is true if it is tied with the first.
    """

    suite: str
    experiment: str
    competitor: str
    result: str
    best: str
    rank: int
    of: int
    tied: bool


def results(component: str) -> list[str]:
    """Return the reference results of a component, as lines of reStructuredText."""
    places = sorted(_places(component), key=lambda place: ((place.rank - 1) / (place.of - 1), -place.of))
    if not places:
        return []
    first = sum(place.rank == 1 for place in places)
    tied = sum(place.tied for place in places)
    text = (
        f"The method is on {len(places)} leaderboard{'s' * (len(places) > 1)} of the reference results. "
        f"Its best pipeline is first on {first} and ties with the best on {tied}."
    )
    chosen = places if len(places) <= 2 * SHOWN else [*places[:SHOWN], *places[-SHOWN:]]
    if len(chosen) < len(places):
        text += f" The table shows its {SHOWN} best and {SHOWN} worst ranks."
    lines = [text, "", ".. list-table::", "   :header-rows: 1", ""]
    rows = [("data", "best pipeline with it", "result", "rank", "best without it")]
    rows += [
        (
            f"``{place.experiment}`` ({place.suite})",
            place.competitor,
            place.result,
            f"{place.rank}{' =' * place.tied} of {place.of}",
            place.best,
        )
        for place in chosen
    ]
    for row in rows:
        lines += [f"   {'*' if not number else ' '} - {cell}" for number, cell in enumerate(row)]
    return [*lines, ""]


def _places(component: str) -> Iterator[Place]:
    for suite, experiment, board, components in _boards():
        using = pd.Series(
            [
                component in components.get(method, ()) or component in components.get(classifier, ())
                for method, classifier in zip(board["method"], board["classifier"], strict=True)
            ],
            index=board.index,
        )
        if using.all() or not using.any():
            continue
        own, other = board[using].iloc[0], board[~using].iloc[0]
        style = metric_style(own["metric"])
        yield Place(
            suite,
            experiment,
            _name(own),
            f"{style.measured(own['mean'])} {style.heading}",
            f"{_name(other)} {style.measured(other['mean'])}",
            int(own["rank"]),
            len(board),
            bool(pd.notna(own["tied"]) and own["tied"] and board["tied"].eq(True).sum() > 1),
        )


def _components(suite: Suite, experiment: str) -> dict[str, frozenset[str]]:
    """Return the components that each method and each classifier of an experiment names."""
    spec = suite.experiments[experiment]
    parts = [*spec.methods.items(), *spec.classifiers.items()]
    return {name: frozenset(_named(part.model_dump(mode="json"))) for name, part in parts}


def _named(value: Any) -> Iterator[str]:
    """Yield the registered components that a part of a suite names, at any depth."""
    if isinstance(value, str):
        if value in COMPONENTS:
            yield value
    elif isinstance(value, dict):
        yield from _named([*value, *value.values()])
    elif isinstance(value, list):
        for item in value:
            yield from _named(item)


def _name(line: pd.Series) -> str:
    trained = isinstance(line["classifier"], str) and line["classifier"] not in ("", "none")
    return f"``{line['method']}``" + (f" + {line['classifier']}" if trained else "")


@lru_cache(maxsize=1)
def _boards() -> tuple[tuple[str, str, pd.DataFrame, dict[str, frozenset[str]]], ...]:
    """Return every leaderboard of the reference, best first, with what its methods and classifiers name."""
    return tuple(
        (suite.name, name, lines.sort_values("rank", kind="stable"), _components(suite, name))
        for plan in shipped_plans()
        for suite in [plan.suite]
        for name, lines in _ranked(plan).groupby("experiment", sort=False)
        if name in suite.experiments
    )


def _ranked(plan: SuitePlan) -> pd.DataFrame:
    """Return the leaderboards of a suite: as they were written, or from the values of its runs."""
    folder, suite = default_reference_folder(), plan.suite
    for path in (folder / suite.name / "leaderboard.csv", folder / "leaderboard.csv"):
        if path.is_file():
            board = _of_suite(path, suite)
            if len(board):
                return board
    groups = group_runs([plan], reference_records(plan))
    boards = [board.assign(experiment=name) for (_, name), board in leaderboards([suite], groups).items()]
    found = pd.concat(boards) if boards else pd.DataFrame(columns=["experiment", "rank"])
    return found[found["rank"].notna()]


def _of_suite(path: Path, suite: Suite) -> pd.DataFrame:
    board = pd.read_csv(path, dtype={"classifier": str})
    board = board[(board["suite"] == suite.name) & board["rank"].notna()]
    headlines = {name: spec.headline for name, spec in suite.experiments.items()}
    return board[board["metric"] == board["experiment"].map(headlines)]
