"""Checks before a run: one at a time for each folder of results, and folders that can be written."""

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest

from eigenbench.bench.jobs.outputs import LOCK, check_writable, hold_lock

HOLDER = """
import sys, time
from pathlib import Path
from eigenbench.bench.jobs.outputs import hold_lock
hold_lock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_run_is_refused_and_a_killed_one_leaves_no_lock(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(RuntimeError, match=rf"process {holder.pid}\) is working on {tmp_path}"):
        hold_lock(tmp_path)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert hold_lock(tmp_path) is None


def test_the_lock_is_as_open_as_the_umask_allows_and_one_of_another_user_can_be_held(tmp_path, monkeypatch):
    before = os.umask(0o002)
    try:
        hold_lock(tmp_path)
    finally:
        os.umask(before)
    assert (tmp_path / LOCK).stat().st_mode & 0o777 == 0o664
    other = tmp_path / "other"
    other.mkdir()
    (other / LOCK).write_text("123")

    def opened(path, flags, mode=0o777):
        if flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, flags, mode)

    real = os.open
    monkeypatch.setattr(os, "open", opened)
    assert hold_lock(other) is None
    assert (other / LOCK).read_text() == "123"


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_a_warning(tmp_path, monkeypatch, number):
    def flock(handle, operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    assert hold_lock(tmp_path).startswith(f"{tmp_path}: its file system has no locks (")


def test_a_folder_that_cannot_be_written_is_named_with_its_key(tmp_path):
    (tmp_path / "file").write_text("in the way")
    folders = {"data_dir": str(tmp_path / "data")}
    check_writable(folders)
    with pytest.raises(OSError, match=r"file/reports: cannot write there \(Not a directory\).*reports_dir"):
        check_writable(folders | {"reports_dir": str(tmp_path / "file" / "reports")})
    assert list((tmp_path / "data").iterdir()) == []
