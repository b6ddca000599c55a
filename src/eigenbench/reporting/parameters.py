"""Fixed and selected hyperparameters, the candidates of each search, and choices at the edge of a grid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from eigenbench.bench.records.record import Candidate, Record, Search
from eigenbench.reporting.csv_files import csv_text
from eigenbench.reporting.formatting import metric_style


class Parameters(NamedTuple):
    """The parameters of the runs of a method and classifier: those of all seeds, and those that differ."""

    shared: str
    differing: str


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


def search_summary(searches: Mapping[int, Search]) -> tuple[str, str, str, str]:
    """Return number of candidates, the selected ones by seed, their scores, and the span of all, as text."""
    first = next(iter(searches.values()))
    style = metric_style(f"validation_{first.metric}")
    tried = [one for search in searches.values() for one in search.candidates]
    scores = [one.score for one in tried if one.score is not None]
    failed = sum(one.status != "ok" for one in tried)
    chosen = {
        seed: search.candidates[search.selected]
        for seed, search in searches.items()
        if search.selected is not None
    }
    by_text: dict[str, list[str]] = {}
    for seed, one in chosen.items():
        by_text.setdefault(_candidate_text(one), []).append(str(seed))
    return (
        f"{len(first.candidates)}" + (f" ({failed} of {len(tried)} failed)" if failed else ""),
        "; ".join(f"{text} (seed {', '.join(seeds)})" for text, seeds in by_text.items()) or "–",
        ", ".join(style.measured(one.score) for one in chosen.values()) or "–",
        f"{style.measured(min(scores))} to {style.measured(max(scores))}" if scores else "–",
    )


def _candidate_text(candidate: Candidate) -> str:
    return (
        ", ".join(f"{name} = {value_text(value)}" for name, value in sorted(candidate.params.items())) or "–"
    )


def searches_csv(records: Iterable[Record]) -> str:
    """Tabulate the candidates of all searches as CSV, one line per candidate."""
    identity = ("suite", "experiment", "dataset", "method", "classifier", "seed")
    rows = [
        [
            *(getattr(record, name) for name in identity),
            _candidate_text(candidate),
            record.search.metric,
            candidate.score,
            candidate.status,
            place == record.search.selected,
        ]
        for record in records
        if record.search
        for place, candidate in enumerate(record.search.candidates)
    ]
    return csv_text((*identity, "candidate", "metric", "score", "status", "selected"), rows)


def value_text(value: Any) -> str:
    """Write the value of a parameter; texts stand without quotation marks."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def edge_note(records: Iterable[Record]) -> str:
    """Name the numeric parameters whose chosen value is the least or greatest that was tried.

    Such as ``gem__gamma: best value at the grid's edge (10) (2 of 5 seeds)``; empty where there is none.
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
    return [
        f"{name}: best value at the grid's edge ({chosen:g})"
        for name, chosen, low, high in chosen_values(search)
        if chosen in (low, high)
    ]


def chosen_values(search: Search) -> Iterator[tuple[str, float, float, float]]:
    """Yield each numeric parameter that a finished search varied: name, value, least and greatest tried."""
    assert search.selected is not None
    for name, chosen in sorted(search.candidates[search.selected].params.items()):
        values = {one.params[name] for one in search.candidates if _is_number(one.params.get(name))}
        if len(values) > 1:
            yield name, chosen, min(values), max(values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
