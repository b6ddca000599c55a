"""The measurements of commits and releases, one line of JSON each, and the page that shows them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from changes import changes
from measures import kind_of

HISTORY = Path(__file__).parent / "history.jsonl"

#: Records that the page shows besides those of releases.
_RECENT = 6
_MARKS = {"worse": "**worse**", "better": "*better*", "missing": "**missing**"}


@dataclass(frozen=True)
class Measured:
    """A commit's quantities.

    Attributes
    ----------
    release : str or None
        Its tag.
    machine : str
        Processor and number of cores; only records of one machine are compared.
    load : float
        Processes that wanted the processor when the measurement ended.
    rounds : dict
        Values of each quantity, one for each round.
    """

    commit: str
    date: str
    release: str | None
    machine: str
    load: float
    rounds: dict[str, list[float]] = field(repr=False)


def this_machine() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{(names or [platform.machine()])[0]}, {os.cpu_count()} cores"


def read(path: Path = HISTORY) -> list[Measured]:
    """Return the records, in the order in which they were made."""
    if not path.is_file():
        return []
    return [Measured(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def append(record: Measured, path: Path = HISTORY) -> None:
    rounded = {name: [float(f"{value:.6g}") for value in values] for name, values in record.rounds.items()}
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({**asdict(record), "rounds": rounded}) + "\n")


def page(records: Sequence[Measured]) -> str:
    """Return a table for each machine: means over rounds, and what changed since the record before."""
    if not records:
        return "Nothing was recorded yet.\n"
    machines = dict.fromkeys(record.machine for record in records)
    return "\n".join(
        f"### {machine}\n\n{_table([record for record in records if record.machine == machine])}"
        for machine in machines
    )


def _table(records: Sequence[Measured]) -> str:
    shown = [
        place for place, record in enumerate(records) if record.release or place >= len(records) - _RECENT
    ]
    verdicts = [{}] + [
        {change.quantity: change.verdict for change in changes(earlier.rounds, later.rounds)}
        for earlier, later in pairwise(records)
    ]
    names = list(dict.fromkeys(name for place in shown for name in records[place].rounds))
    header = ["quantity", "unit", "better", *(_title(records[place]) for place in shown)]
    lines = [header, ["---"] * len(header)]
    for name in names:
        kind = kind_of(name)
        cells = [_cell(records[place], name, verdicts[place].get(name)) for place in shown]
        lines.append([f"`{name}`", kind.unit, "higher" if kind.higher_is_better else "lower", *cells])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _title(record: Measured) -> str:
    return f"{record.release or f'`{record.commit[:7]}`'}, {record.date}, load {record.load:.0f}"


def _cell(record: Measured, name: str, verdict: str | None) -> str:
    values = record.rounds.get(name)
    text = "" if values is None else f"{np.mean(values):.3g}"
    return f"{text} {_MARKS.get(verdict or '', '')}".strip()
