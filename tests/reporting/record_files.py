"""Records where the workflow puts them."""

from __future__ import annotations

from pathlib import Path

from eigenbench.bench.records.record import Record, write_record


def write(results_dir: Path, record: Record) -> Path:
    method = results_dir / record.suite / record.experiment / record.method / f"seed-{record.seed}"
    path = method / record.classifier / "record.json"
    write_record(path, record)
    return path
