"""The current record of a run, read without changing a file."""

from __future__ import annotations

from pathlib import Path

from eigenbench.bench.records.record import Record, read_record
from eigenbench.bench.records.runs import Run
from eigenbench.bench.records.sealed_json import REMEDY, DamagedFileError, file_sums


def current_record(run: Run, results_dir: Path, *files: str) -> Record | None:
    """Return the record of a run, or None where there is none that was made with its settings.

    Those of the named files that are there are checked by their SHA-256. The `DamagedFileError` says which
    file is damaged, and what to do.
    """
    path = results_dir / run.record
    if not path.exists():
        return None
    record = read_record(path)
    for file in (path.with_name(name) for name in files if name in record.files):
        if file.exists():
            found = file_sums(file.parent, file.name)[file.name]["sha256"]
            # The record is read again, as a job may have replaced both.
            if found != record.files[file.name].sha256 and read_record(path) == record:
                raise DamagedFileError(f"{file}: not as its record says; delete it, then {REMEDY}")
    return record if record.run_key == run.key else None
