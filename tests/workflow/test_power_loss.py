"""Everything is killed at random moments, again and again: nothing is lost, doubled or damaged.

``EIGENBENCH_KILLS`` sets how many times (3), ``EIGENBENCH_KILL_SEED`` the moments (0).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
import yaml

from eigenbench.bench.records.record import read_record

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

KILLS = int(os.environ.get("EIGENBENCH_KILLS", "3"))
SEED = int(os.environ.get("EIGENBENCH_KILL_SEED", "0"))
SUITE = {
    "title": "Four records",
    "experiments": {
        "main": {
            "dataset": "digits",
            "seeds": [0, 1],
            "methods": {"identity": {}, "random": {"steps": [{"RandomDirections": {"n_components": 20}}]}},
            "classifiers": ["CalibratedLeastSquares"],
        }
    },
}


def kill_all(process, folder):
    """Kill the process group, then whatever else works in the folder."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder):
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue


def check_undamaged(workflow):
    """What must hold at every moment: records are whole, the store is sound, no record is in it twice."""
    for path in workflow.records():
        assert read_record(path).status == "ok"
    store = workflow.folder / "mlflow.db"
    if store.exists():
        copy = workflow.folder / "copy-of-the-store"
        for suffix in ("", "-wal", "-journal"):
            if (left := Path(f"{store}{suffix}")).exists():
                shutil.copy(left, f"{copy}{suffix}")
        with closing(sqlite3.connect(copy)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            whole = connection.execute(
                "SELECT value FROM tags JOIN runs USING (run_uuid) WHERE key = 'run_key'"
                " AND lifecycle_stage = 'active' AND status IN ('FINISHED', 'FAILED')"
            ).fetchall()
        for left in workflow.folder.glob("copy-of-the-store*"):
            left.unlink()
        assert all(count == 1 for count in Counter(whole).values())


def check_finished(workflow, reference):
    pd.testing.assert_frame_equal(workflow.metrics(), reference)
    check_undamaged(workflow)
    keys = {read_record(path).run_key for path in workflow.records()}
    with closing(sqlite3.connect(workflow.folder / "mlflow.db")) as connection:
        runs = connection.execute(
            "SELECT value, status FROM tags JOIN runs USING (run_uuid)"
            " WHERE key = 'run_key' AND lifecycle_stage = 'active'"
        ).fetchall()
    assert sorted(runs) == sorted((key, "FINISHED") for key in keys)
    assert list((workflow.folder / "results").rglob("*.tmp")) == [], "the next run clears away what was left"


def test_kills_at_random_moments(tmp_path, make_workflow):
    suites = tmp_path / "suites"
    suites.mkdir()
    (suites / "tiny.yaml").write_text(yaml.safe_dump(SUITE))
    folders = [tmp_path / name for name in ("undisturbed", "killed")]
    for folder in folders:
        folder.mkdir()
    undisturbed, workflow = (make_workflow(folder, suites) for folder in folders)
    started = time.monotonic()
    done = undisturbed.run(timeout=3600)
    duration = time.monotonic() - started
    assert done.returncode == 0, done.stdout[-6000:]
    reference = undisturbed.metrics()
    moments = random.Random(SEED)
    kills = finished = 0
    while kills < KILLS:
        process = workflow.start()
        try:
            process.wait(timeout=moments.uniform(0, duration))
        except subprocess.TimeoutExpired:
            kill_all(process, workflow.folder)
            kills += 1
            check_undamaged(workflow)
            print(f"kill {kills}: {len(workflow.records())} records, all sound", flush=True)
            continue
        assert process.returncode == 0, (workflow.folder / "started.log").read_text()[-6000:]
        check_finished(workflow, reference)
        finished += 1
        print(f"finished after {kills} kills in all, with the same tables", flush=True)
        shutil.rmtree(workflow.folder)
        workflow.folder.mkdir()
    done = workflow.run(timeout=3600)
    assert done.returncode == 0, done.stdout[-6000:]
    check_finished(workflow, reference)
    print(f"{kills} kills, {finished + 1} runs finished with the same tables; one takes {duration:.0f} s")
