"""Times that can't be trusted: a clock that went back."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing

import pandas as pd
import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

DAY = 86_400


@pytest.mark.parametrize("part", ["data/prepared", "results"])
def test_a_clock_that_went_back_changes_no_result(copied, finished, part):
    """Files of one stage are from tomorrow: what follows may be done again, with the same outcome."""
    tomorrow = time.time() + DAY
    for path in (copied.folder / part).rglob("*"):
        if path.is_file():
            os.utime(path, (tomorrow, tomorrow))
    done = copied.run()
    assert done.returncode == 0, done.stdout[-6000:]
    pd.testing.assert_frame_equal(copied.metrics(), finished[0].metrics())
    with closing(sqlite3.connect(copied.folder / "mlflow.db")) as connection:
        query = "SELECT value FROM tags JOIN runs USING (run_uuid)"
        active = " WHERE key = 'run_key' AND lifecycle_stage = 'active' AND status != 'RUNNING'"
        keys = sorted(value for (value,) in connection.execute(query + active))
    assert keys == sorted(finished[0].metrics().run_key.unique())
