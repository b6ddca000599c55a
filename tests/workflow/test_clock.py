"""Times that can't be trusted: a clock that went back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing

import pandas as pd
import pytest
import yaml

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

DAY = 86_400
METHODS = {"identity": {}, "random": {"steps": [{"RandomDirections": {"n_components": 20}}]}}
EXPERIMENT = {
    "dataset": "digits",
    "methods": METHODS,
    "classifiers": ["CalibratedLeastSquares"],
}


@pytest.fixture(scope="module")
def small(tmp_path_factory, make_workflow):
    """A workflow of two records that ran undisturbed. Read it; copy it to change it."""
    folder, suites = (tmp_path_factory.mktemp(name) for name in ("small", "suites"))
    content = {"title": "Two records", "experiments": {"main": EXPERIMENT}}
    (suites / "tiny.yaml").write_text(yaml.safe_dump(content))
    workflow = make_workflow(folder, suites)
    done = workflow.run()
    assert done.returncode == 0, done.stdout[-6000:]
    return workflow


@pytest.fixture
def copied(small, tmp_path, make_workflow):
    """A copy of it, with its modification times."""
    shutil.copytree(small.folder, tmp_path / "copy", symlinks=True)
    return make_workflow(tmp_path / "copy", small.suites_dir)


def set_times(folder, seconds_from_now):
    moment = time.time() + seconds_from_now
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (moment, moment))


def keys_in_mlflow(workflow):
    with closing(sqlite3.connect(workflow.folder / "mlflow.db")) as connection:
        query = "SELECT value FROM tags JOIN runs USING (run_uuid)"
        active = " WHERE key = 'run_key' AND lifecycle_stage = 'active' AND status != 'RUNNING'"
        return sorted(value for (value,) in connection.execute(query + active))


@pytest.mark.parametrize("part", ["data/prepared", "results"])
def test_a_clock_that_went_back_changes_no_result(copied, small, part):
    """Files of one stage are from tomorrow: what follows may be done again, with the same outcome."""
    set_times(copied.folder / part, DAY)
    done = copied.run()
    assert done.returncode == 0, done.stdout[-6000:]
    pd.testing.assert_frame_equal(copied.metrics(), small.metrics())
    assert keys_in_mlflow(copied) == sorted(small.metrics().run_key.unique())
