"""Whether an SQLite store shows all records already: seen without MLflow, which takes longer to load."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from eigenbench.bench.suites.suite import Suite
from eigenbench.tracking.databases import reading, sqlite_path
from eigenbench.tracking.entries import Entry, ImportSummary
from eigenbench.tracking.known import Known, KnownRun, source_of
from eigenbench.tracking.suite_import import Settings
from eigenbench.tracking.summarizer import are_current, fingerprint_of, page_tags

_EXPERIMENT = "SELECT experiment_id FROM experiments WHERE name = ? AND lifecycle_stage = 'active'"
_PAGE = "SELECT key, value FROM experiment_tags WHERE experiment_id = ?"
_RUNS = """
SELECT run_uuid, status, start_time, end_time, json_group_object(key, value)
FROM runs JOIN tags USING (run_uuid)
WHERE experiment_id = ? AND lifecycle_stage = 'active' AND key != 'mlflow.note.content'
GROUP BY run_uuid
"""


@dataclass
class _Found:
    """What a store holds of a suite."""

    experiment_id: str
    known: Known = field(default_factory=Known)
    page: dict[str, str] = field(default_factory=dict)

    def run_of(self, entry: Entry) -> KnownRun | None:
        """Return the run of a record if nothing is to be written for it."""
        found = self.known.runs.get(entry.key, [])
        kept = entry.current_run(found)
        return kept if all(run == kept or run.in_progress for run in found) else None


def is_unchanged(
    entries: Mapping[str, Sequence[Entry]],
    suites: Mapping[str, Suite],
    settings: Settings,
    summary: ImportSummary,
) -> bool:
    """Return whether an import has nothing to write; then the summary says where everything is.

    Only SQLite stores are looked at. Where one cannot be read here, MLflow says what is wrong with it.

    Parameters
    ----------
    entries : mapping of str to sequence of Entry
        The records by suite.
    suites : mapping of str to Suite
        The suites whose files are at hand.
    settings : Settings
        Of the import.
    summary : ImportSummary
        Completed if nothing is to be written.
    """
    path = sqlite_path(settings.uri)
    if path is None or settings.all_models:
        return False
    stored: dict[str, _Found] = {}
    try:
        with reading(path) as connection:
            for name, of_suite in entries.items():
                found = _read(connection, name, of_suite, settings)
                if found is None or not _shows(found, of_suite, suites.get(name), settings):
                    return False
                stored[name] = found
    except sqlite3.Error:
        return False
    for name, found in stored.items():
        summary.experiment_ids[name] = found.experiment_id
        for entry in entries[name]:
            run = found.run_of(entry)
            assert run is not None
            summary.count(entry, [run])
            summary.run_ids[f"{name}/{entry.run_key}"] = run.run_id
        for experiment in _experiments(entries[name]):
            summary.summary_ids |= found.known.summary_ids(name, experiment)
    return True


def _read(
    connection: sqlite3.Connection, suite: str, entries: Sequence[Entry], settings: Settings
) -> _Found | None:
    rows = connection.execute(_EXPERIMENT, (suite,)).fetchall()
    if len(rows) != 1:
        return None
    found = _Found(str(rows[0][0]))
    found.page = dict(connection.execute(_PAGE, rows[0]).fetchall())
    source, experiments = source_of(settings.results_dir), set(_experiments(entries))
    for run_id, status, start, end, packed in connection.execute(_RUNS, rows[0]):
        tags = json.loads(packed)
        if tags.get("experiment") in experiments:
            info = SimpleNamespace(run_id=run_id, status=status, start_time=start, end_time=end)
            run: Any = SimpleNamespace(info=info, data=SimpleNamespace(tags=tags))
            found.known.add(run, source)
    return found


def _shows(found: _Found, entries: Sequence[Entry], suite: Suite | None, settings: Settings) -> bool:
    """Return whether a suite's runs, summaries and page are as an import would leave them."""
    experiments = _experiments(entries)
    page = page_tags(suite, experiments, settings.reports_dir)
    return (
        all(found.run_of(entry) for entry in entries)
        and page.items() <= found.page.items()
        and all(
            are_current(found.known, name, fingerprint_of(found.known, name, suite)) for name in experiments
        )
    )


def _experiments(entries: Sequence[Entry]) -> list[str]:
    return sorted({entry.group.experiment for entry in entries})
