import os
import signal
import subprocess
import sys

import pytest

from eigenbench.bench.jobs.guard import RunLock, check_writable

HOLDER = """
import sys, time
from pathlib import Path
from eigenbench.bench.jobs.guard import RunLock
RunLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_run_is_refused_and_a_killed_one_leaves_no_lock(tmp_path):
    path = tmp_path / "lock"
    assert RunLock(path).is_free()
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    assert not RunLock(path).is_free()
    with pytest.raises(RuntimeError, match=f"process {holder.pid}"):
        RunLock(path).acquire()
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert RunLock(path).is_free()
    RunLock(path).acquire()


def test_asking_takes_no_lock(tmp_path):
    lock = RunLock(tmp_path / "lock")
    assert lock.is_free()
    assert not lock.path.exists()
    lock.path.touch()
    assert lock.is_free()
    RunLock(lock.path).acquire()


def test_a_folder_that_cannot_be_written_is_named_with_its_key(tmp_path):
    (tmp_path / "file").write_text("in the way")
    folders = {"data_dir": str(tmp_path / "data")}
    check_writable(folders)
    with pytest.raises(OSError, match=r"file/reports: cannot write there \(Not a directory\).*reports_dir"):
        check_writable(
            {"data_dir": str(tmp_path / "data"), "reports_dir": str(tmp_path / "file" / "reports")}
        )
    assert list((tmp_path / "data").iterdir()) == []
