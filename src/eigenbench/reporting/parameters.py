"""Fixed and selected hyperparameters, the candidates of each search, and choices at the edge of a grid."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eigenbench.bench.records.record import Candidate, Record, Search
from eigenbench.reporting.csv_files import csv_text
from eigenbench.reporting.formatting import metric_style


def parameters_of(records: Sequence[Record]) -> tuple[str, str]:
    """Return the parameters of some runs, by name: those of all, and those that differ with their seeds."""
    shared, differing = [], []
    for name in sorted({name for record in records for name in record.params}):
        seeds: dict[str, list[str]] = {}
        for record in records:
            if name in record.params:
                seeds.setdefault(value_text(record.params[name]), []).append(str(record.seed))
        if len(seeds) == 1 and sum(map(len, seeds.values())) == len(records):
            shared.append(f"{name} = {next(iter(seeds))}")
        else:
            differing.append(f"{name} = {_by_seed(seeds)}")
    return ", ".join(shared), ". ".join(differing)


def _by_seed(seeds: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{text} (seed {', '.join(having)})" for text, having in seeds.items())


def search_summary(searches: Mapping[int, Search]) -> dict[str, str]:
    """Return, by heading, the number of candidates, the selected ones by seed, and the scores of both."""
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
    return {
        "Candidates": f"{len(first.candidates)}" + f" ({failed} of {len(tried)} failed)" * bool(failed),
        "Selected, by seed": _by_seed(by_text) or "–",
        "Validation score": ", ".join(style.measured(one.score) for one in chosen.values()) or "–",
        "Scores of all": f"{style.measured(min(scores))} to {style.measured(max(scores))}" if scores else "–",
    }


def _candidate_text(candidate: Candidate) -> str:
    params = sorted(candidate.params.items())
    return ", ".join(f"{name} = {value_text(value)}" for name, value in params) or "–"


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
    """Name the numeric parameters whose chosen value is the least or greatest that was tried."""
    searches = [record.search for record in records if record.search and record.search.selected is not None]
    found = Counter(
        f"{name}: best value at the grid's edge ({chosen:g})"
        for search in searches
        for name, chosen, low, high in chosen_values(search)
        if chosen in (low, high)
    )
    return "; ".join(
        note if count == len(searches) else f"{note} ({count} of {len(searches)} seeds)"
        for note, count in found.items()
    )


def chosen_values(search: Search) -> Iterator[tuple[str, float, float, float]]:
    """Yield each numeric parameter that a finished search varied: name, value, least and greatest tried."""
    assert search.selected is not None
    for name, chosen in sorted(search.candidates[search.selected].params.items()):
        tried = (one.params.get(name) for one in search.candidates)
        values = {one for one in tried if isinstance(one, int | float) and not isinstance(one, bool)}
        if len(values) > 1:
            yield name, chosen, min(values), max(values)
