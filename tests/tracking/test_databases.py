"""SQLite stores stay one sound file, whatever happens to an import; damage is reported."""

from __future__ import annotations

import contextlib
import os
import sqlite3

import pytest
from mlflow import MlflowClient

from eigenbench.tracking.addresses import TrackingError

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize("room", [0, 60_000])
def test_a_full_disk_during_an_import_loses_nothing(results, store_uri, tmp_path, largest_file, room):
    """Without room for the store, or for the files of the runs only: a clear error, then it goes on."""
    paths = [results.record(seed) for seed in range(40)]
    largest_file(room)
    with pytest.raises(TrackingError, match="records are safe"):
        results.bring(paths, store_uri)
    largest_file(None)
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    summary = results.bring(paths, store_uri)
    assert summary.failed == {}
    assert summary.imported + summary.unchanged == 40
    runs = MlflowClient(store_uri).search_runs(["1"], "tags.kind = 'run'")
    assert sorted(run.data.tags["run_key"] for run in runs) == [path.parent.name for path in paths]
    assert {run.info.status for run in runs} == {"FINISHED"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_is_a_clear_error(results, store_uri, tmp_path):
    (tmp_path / "mlflow.db").chmod(0o444)
    with pytest.raises(TrackingError, match="readonly"):
        results.bring([results.record()], store_uri)
