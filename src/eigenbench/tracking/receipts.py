"""Receipts: which records an MLflow store has, and whether it still is that store."""

from __future__ import annotations

import json
from pathlib import Path

from eigenbench.tracking.addresses import resolve_uri, shown_uri, sqlite_path
from eigenbench.tracking.store import store_mark


def receipt_is_current(path: Path, tracking_uri: str | None = None) -> bool:
    """Return whether the store still has everything that a receipt names; nothing is raised.

    The address must be the same. An SQLite file must be the one that the import has left, and since then
    only imports may have written to it: a run that was deleted in the dashboard, a file that was removed or
    replaced by a copy end the receipt. A server or another database is not asked. A receipt that is missing,
    damaged or names records that were not imported is not current.

    Parameters
    ----------
    path : Path
        The `eigenbench.tracking.ImportSummary` of an import as JSON.
    tracking_uri : str, optional
        The store in use now; by default ``MLFLOW_TRACKING_URI``, else ``sqlite:///mlflow.db``.

    Notes
    -----
    Opens neither the store nor MLflow.
    """
    try:
        receipt, uri = json.loads(path.read_bytes()), resolve_uri(tracking_uri)
        file = sqlite_path(uri)
        return (
            receipt["tracking_uri"] == shown_uri(uri)
            and not receipt["failed"]
            and bool(receipt["run_ids"])
            and (file is None or None is not receipt["store_mark"] == store_mark(file))
        )
    except Exception:  # of the receipt or the store; the next import repairs it or says what is wrong
        return False
