"""Fixed and selected hyperparameters, the candidates of each search, and choices at the edge of a grid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from eigenbench.bench.records.record import Record, Search
from eigenbench.reporting.formatting import MetricStyle, metric_style
from eigenbench.reporting.replicates import RunGroup


class Parameters(NamedTuple):
    """The parameters of the runs of a method and classifier: those of all seeds, and those that differ."""

    shared: str
    differing: str


@dataclass(frozen=True)
class SearchView:
    """The search of one group: for each candidate, its score with each seed and whether that seed took it.

    Attributes
    ----------
    title, method : str
        The method and classifier, and the method.
    metric : MetricStyle
        What the scores are.
    names : str
        The parameters that were tried.
    seeds : list of int
        Those that searched.
    rows : list
        The values of a candidate, and by seed its score and whether it was selected.
    """

    title: str
    method: str
    metric: MetricStyle
    names: str
    seeds: list[int]
    rows: list[tuple[str, dict[int, tuple[str, bool]]]]


def parameters_of(records: Sequence[Record]) -> Parameters:
    """Return the parameters of some runs, by name; each value that not all have with its seeds."""
    shared, differing = [], []
    for name in sorted({name for record in records for name in record.params}):
        seeds: dict[str, list[str]] = {}
        for record in records:
            if name in record.params:
                seeds.setdefault(value_text(record.params[name]), []).append(str(record.seed))
        if len(seeds) == 1 and sum(map(len, seeds.values())) == len(records):
            shared.append(f"{name} = {next(iter(seeds))}")
        else:
            values = "; ".join(f"{value} (seed {', '.join(having)})" for value, having in seeds.items())
            differing.append(f"{name} = {values}")
    return Parameters(", ".join(shared), ". ".join(differing))


def search_of(group: RunGroup) -> SearchView | None:
    """Return the search of a group; None where nothing was searched."""
    searches = {record.seed: record.search for record in group.records if record.search}
    if not searches:
        return None
    style = metric_style(f"validation_{next(iter(searches.values())).metric}")
    tried = [candidate.params for search in searches.values() for candidate in search.candidates]
    names = sorted({name for params in tried for name in params})
    rows: dict[str, dict[int, tuple[str, bool]]] = {}
    for seed, search in searches.items():
        for index, candidate in enumerate(search.candidates):
            status = candidate.status.replace("_", " ")
            score = style.measured(candidate.score) if candidate.status == "ok" else status
            params = candidate.params
            values = ", ".join(value_text(params[name]) if name in params else "–" for name in names)
            rows.setdefault(values, {})[seed] = (score, index == search.selected)
    rows_shown = [(values or "–", row) for values, row in rows.items()]
    return SearchView(group.label, group.method, style, ", ".join(names), list(searches), rows_shown)


def value_text(value: Any) -> str:
    """Write the value of a parameter; texts stand without quotation marks."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


#: A grid of fewer values is all edge.
_MIN_VALUES = 3


def edge_note(records: Iterable[Record]) -> str:
    """Name the numeric parameters whose chosen value is the least or greatest of at least three.

    Returns
    -------
    str
        Such as ``gem__gamma = 10 is the largest tried (2 of 5 seeds)``; empty where there is none.
    """
    searches = [record.search for record in records if record.search and record.search.selected is not None]
    found: dict[str, int] = {}
    for search in searches:
        for note in _edges(search):
            found[note] = found.get(note, 0) + 1
    return "; ".join(
        note if count == len(searches) else f"{note} ({count} of {len(searches)} seeds)"
        for note, count in found.items()
    )


def _edges(search: Search) -> list[str]:
    assert search.selected is not None
    notes = []
    for name, chosen in sorted(search.candidates[search.selected].params.items()):
        values = {one.params[name] for one in search.candidates if _is_number(one.params.get(name))}
        if len(values) >= _MIN_VALUES and chosen in (min(values), max(values)):
            end = "smallest" if chosen == min(values) else "largest"
            notes.append(f"{name} = {chosen:g} is the {end} tried")
    return notes


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
