"""Times that can't be trusted: a clock that went back."""

import os
import time

import pandas as pd
import pytest
from tracked_runs import tracked

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
    keys = [key for key, status in tracked(copied.folder) if status != "RUNNING"]
    assert keys == sorted(finished[0].metrics().run_key.unique())
