"""Chosen parameters that lie at the edge of their grid: a wider grid might have given a better result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eigenbench.bench.records.record import Record, Search

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
