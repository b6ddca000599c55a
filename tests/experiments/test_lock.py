import os
import signal
import subprocess
import sys

import pytest

from eigenbench.experiments.lock import RunLock

HOLDER = """
import sys, time
from pathlib import Path
from eigenbench.experiments.lock import RunLock
RunLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_run_is_refused_and_a_killed_one_leaves_no_lock(tmp_path):
    path = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(RuntimeError, match=f"process {holder.pid}"):
        RunLock(path).acquire()
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    RunLock(path).acquire()
