"""A fit runs in its own process: whatever happens to it, its job reports it."""

import errno
import os
import signal
import time

import numpy as np
import pytest

from eigenbench.bench.jobs.supervision import MachineFaultError, Supervisor

pytestmark = pytest.mark.workflow

FULL = [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE, errno.EMFILE]


@pytest.fixture
def supervise(tmp_path):
    """Run a function in a child of a supervisor."""

    def run(fit, last_attempt=True, time_limit=None):
        return Supervisor(1, tmp_path / "job.log", last_attempt, time_limit).run("train", fit)

    return run


def test_what_a_fit_returns_is_reported_also_where_it_is_longer_than_a_pipe_holds(supervise):
    numbers = {"x": np.float32(0.5), "n": np.int64(3), "ok": np.bool_(True)}
    report = supervise(lambda: {**numbers, "process": os.getpid(), "values": list(range(500_000))})
    assert report["status"] == "ok"
    assert (report["x"], report["n"], report["ok"]) == (0.5, 3, True)
    assert report["process"] != os.getpid()
    assert len(report["values"]) == 500_000


def test_the_rate_of_matrix_products_is_measured_once(tmp_path):
    supervisor = Supervisor(1, tmp_path / "job.log", last_attempt=True)
    assert 0.1 < supervisor.gemm_gflops == supervisor.gemm_gflops


def raising(error, wrap=None):
    """A fit that raises an error as it is, from another one, or while another one is handled."""

    def fit():
        if wrap is None:
            raise error
        try:
            raise error
        except type(error):
            if wrap == "cause":
                raise RuntimeError("the model could not be written") from error
            raise ValueError("while cleaning up")  # noqa: B904

    return fit


@pytest.mark.parametrize("last_attempt", [False, True])
def test_an_exception_is_a_failed_fit_at_once(supervise, last_attempt):
    message = "gamma must be positive, found -1"
    report = supervise(raising(ValueError(message)), last_attempt)
    assert report["status"] == "failed"
    assert report["failure"].pop("log").endswith("job.log")
    assert report["failure"] == {"stage": "train", "type": "ValueError", "message": message}


@pytest.mark.parametrize("result", [{"error_rate": float("nan")}, {"x": np.ones(2)}])
def test_what_json_cannot_hold_is_a_failed_fit(supervise, result):
    assert supervise(lambda: result)["status"] == "failed"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_killed_fit_fails_the_job_and_on_the_last_attempt_is_a_failed_fit(supervise, name):
    def fit():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the dashboard of another test may have set its own
        os.kill(os.getpid(), signal.Signals[name])

    with pytest.raises(MachineFaultError, match=name):
        supervise(fit, last_attempt=False)
    report = supervise(fit)
    assert report["status"] == "failed"
    assert name in report["failure"]["message"]
    assert report["peak_rss_mb"] > 1


@pytest.mark.parametrize("status", [0, 3])
def test_a_fit_that_ends_the_process_is_not_ok(supervise, status):
    report = supervise(lambda: os._exit(status))
    assert report["status"] == "failed"
    assert f"status {status}" in report["failure"]["message"]


def test_memory_is_the_fits_own(supervise):
    large = supervise(lambda: {"sum": float(np.ones(40_000_000).sum())})
    small = supervise(lambda: {})
    assert large["peak_rss_mb"] - small["peak_rss_mb"] > 250


def test_a_fit_over_its_time_limit_is_failed_and_ended(supervise, tmp_path):
    def fit():
        (tmp_path / "process").write_text(str(os.getpid()))
        time.sleep(600)

    report = supervise(fit, last_attempt=False, time_limit=0.5)
    assert report["status"] == "failed"
    assert report["failure"]["type"] == "TimeLimit"
    assert report["failure"]["message"] == "took longer than the time limit of 0.5 s"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "process").read_text()), 0)


@pytest.mark.parametrize("wrap", [None, "cause", "context"])
@pytest.mark.parametrize("number", FULL, ids=errno.errorcode.get)
def test_a_fault_of_the_machine_is_no_result(supervise, number, wrap):
    error = OSError(number, os.strerror(number), "model.skops")
    with pytest.raises(MachineFaultError, match=os.strerror(number)):
        supervise(raising(error, wrap), last_attempt=True)


def test_a_full_device_is_a_fault_of_the_machine(supervise):
    """Errors of the operating system, from Python's buffered files and from NumPy."""
    for write in (lambda file: file.write(b"x" * 100), lambda file: np.ones(100_000).tofile(file)):

        def fit(write=write):
            with open("/dev/full", "wb") as file:  # noqa: PTH123
                write(file)
            return {}

        with pytest.raises(MachineFaultError):
            supervise(fit)


@pytest.mark.parametrize(
    "error", [FileNotFoundError(2, "No such file"), OSError("refused"), PermissionError(1, "x")]
)
def test_other_errors_of_the_operating_system_are_failed_fits(supervise, error):
    assert supervise(raising(error))["failure"]["type"] == type(error).__name__


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_first_memory_error_fails_the_job_and_the_last_is_a_failed_fit(supervise, wrapped):
    def fit():
        try:
            np.empty(2**60, dtype=np.uint8)
        except MemoryError as error:
            if wrapped:
                raise RuntimeError("the features could not be made") from error
            raise

    with pytest.raises(MachineFaultError, match="out of memory"):
        supervise(fit, last_attempt=False)
    assert supervise(fit, last_attempt=True)["failure"]["type"] == "MemoryError"
