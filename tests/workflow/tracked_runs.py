"""The runs of a workflow's MLflow store, from its tables."""

import sqlite3
from contextlib import closing


def tracked(folder):
    """Return the keys of the runs that are not deleted, with their states, sorted."""
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        query = "SELECT value, status FROM tags JOIN runs USING (run_uuid)"
        active = " WHERE key = 'run_key' AND lifecycle_stage = 'active'"
        return sorted(connection.execute(query + active))
