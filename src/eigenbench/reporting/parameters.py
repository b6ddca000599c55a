"""The parameters of runs as the report shows them: what all seeds share once, and what each search tried."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from eigenbench.bench.records.record import Record
from eigenbench.reporting.formatting import MetricStyle, metric_style
from eigenbench.reporting.run_groups import RunGroup


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
