"""Commands that are stopped by one signal, and end with the process that started them."""

import os
import signal
import subprocess
import sys
import time

import pytest

STARTER = """
import sys
from eigenbench.bench.jobs.supervision import run_stoppable
sys.exit(run_stoppable([sys.executable, "-c", sys.argv[1]]))
"""
CHILD = """
import os, signal, time
{first}
print(os.getpid(), flush=True)
time.sleep(60)
"""
STUBBORN = "signal.signal(signal.SIGINT, signal.SIG_IGN)"


@pytest.fixture
def start():
    """Start a command by `run_stoppable`; return the process that calls it, and the id of the command's."""
    started = []

    def run(first="", preexec_fn=None):
        command = [sys.executable, "-c", STARTER, CHILD.format(first=first)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, preexec_fn=preexec_fn, **pipes))
        return started[-1], int(started[-1].stdout.readline())

    yield run
    for process in started:
        process.kill()
        process.communicate()


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def ignore_interrupts():
    """Start in the background, as a shell starts a command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize("before", [None, ignore_interrupts])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_one_signal_interrupts_the_command(start, number, before):
    starter, child = start(preexec_fn=before)
    starter.send_signal(number)
    _, said = starter.communicate(timeout=30)
    assert starter.returncode == 128 + signal.SIGINT
    assert said.endswith("Stopped. Finished work is kept; the same command continues.\n")
    assert not is_there(child)


def test_a_second_signal_kills_what_does_not_heed_the_first(start):
    starter, child = start(STUBBORN)
    starter.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert is_there(child)
    starter.send_signal(signal.SIGINT)
    _, said = starter.communicate(timeout=30)
    assert starter.returncode == 128 + signal.SIGKILL
    assert "Traceback" not in said
    assert not is_there(child)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
def test_the_command_ends_with_a_starter_that_is_killed(start):
    starter, child = start(STUBBORN)
    starter.kill()
    starter.wait()
    deadline = time.monotonic() + 30
    while is_there(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_there(child)


def test_the_exit_code_is_that_of_the_command():
    done = subprocess.run([sys.executable, "-c", STARTER, "raise SystemExit(3)"], check=False)
    assert done.returncode == 3
