"""Receipts: which records an MLflow store has, and whether it still is that store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eigenbench.atomic_files import write_json
from eigenbench.tracking import store
from eigenbench.tracking.databases import reading, sqlite_path
from eigenbench.tracking.entries import ImportSummary


def write_receipt(path: Path, summary: ImportSummary, tracking_uri: str | None = None) -> None:
    """Write what an import did, and by what `receipt_is_current` recognizes the store.

    Parameters
    ----------
    path : Path
        The JSON file to write. It has the fields of the summary, and ``experiments``: for an SQLite store,
        the number and the creation time of each experiment by name; else null.
    summary : ImportSummary
        What `import_records` returned.
    tracking_uri : str, optional
        The store, as it was given to `import_records`.
    """
    file = sqlite_path(store.resolve_uri(tracking_uri))
    experiments = None
    if file is not None:
        with reading(file) as connection:
            experiments = _experiments(connection, summary.experiment_ids)
    write_json(path, asdict(summary) | {"experiments": experiments})


def receipt_is_current(path: Path, tracking_uri: str | None = None) -> bool:
    """Return whether the store still has everything that a receipt says it has; nothing is raised.

    The address must be the same. An SQLite file must be there, with the same experiments (name, number and
    time of creation) and all runs of the receipt; a server or another database is not asked. A receipt that
    is missing, damaged or names records that were not imported is not current.

    Parameters
    ----------
    path : Path
        What `write_receipt` wrote.
    tracking_uri : str, optional
        The store in use now; by default ``MLFLOW_TRACKING_URI``, else ``sqlite:///mlflow.db``.

    Notes
    -----
    Does not import MLflow; takes about a millisecond for a hundred runs.
    """
    try:
        return _is_current(json.loads(path.read_bytes()), store.resolve_uri(tracking_uri))
    except Exception:  # of the receipt or the store; the next import repairs it or says what is wrong
        return False


def _is_current(receipt: dict[str, Any], uri: str) -> bool:
    if receipt["tracking_uri"] != store.shown_uri(uri) or receipt["failed"]:
        return False
    file = sqlite_path(uri)
    if file is None:
        return True
    with reading(file) as connection:
        return receipt["experiments"] == _experiments(connection, receipt["experiments"]) and _has_runs(
            connection, {*receipt["run_ids"].values(), *receipt["summary_ids"].values()}
        )


def _experiments(connection: sqlite3.Connection, names: Collection[str]) -> dict[str, list[int]]:
    rows = connection.execute(
        "SELECT name, experiment_id, creation_time FROM experiments WHERE lifecycle_stage = 'active'"
    )
    return {name: [number, created] for name, number, created in rows if name in names}


def _has_runs(connection: sqlite3.Connection, run_ids: Collection[str]) -> bool:
    (found,) = connection.execute(
        "SELECT count(*) FROM runs WHERE lifecycle_stage = 'active'"
        " AND run_uuid IN (SELECT value FROM json_each(?))",
        (json.dumps(list(run_ids)),),
    ).fetchone()
    return found == len(run_ids)
