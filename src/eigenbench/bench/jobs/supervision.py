"""Processes: run a fit in one of its own and report what became of it; end with the parent; log.

The job process imports the libraries once and forks for every fit. So a fit that is killed (out of memory, a
crash in native code), or takes too long, becomes a failed run instead of a lost job, its peak memory is its
own, and nothing keeps running when the workflow that started the job has ended.
"""

from __future__ import annotations

import ctypes
import errno
import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from eigenbench.bench.records.sealed_json import DamagedFileError

logger = logging.getLogger(__name__)

#: A full or failing disk, a file system that went away, too many open files: not the fit's fault.
_MACHINE_ERRORS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO),
    *(errno.EROFS, errno.ESTALE, errno.EMFILE, errno.ENFILE),
}

#: Rows and columns of the matrices whose product is timed; from here on the rate is that of larger ones.
_GEMM_SIZE = 2048

Report = dict[str, Any]

_PR_SET_PDEATHSIG = 1


class MachineFaultError(RuntimeError):
    """The machine failed, not the fit: nothing is recorded, and the workflow tries again."""


@dataclass(frozen=True)
class Supervisor:
    """Execution of fits in processes of their own, with so many BLAS and OpenMP threads.

    A fit that is killed or out of memory is recorded at the ``last_attempt``; before, the job fails.
    ``time_limit`` is in seconds, of one call. The job and its fits end with the process ``workflow``, by
    default the parent of the job.
    """

    threads: int
    log: Path
    last_attempt: bool
    time_limit: float | None = None
    workflow: int | None = None

    @cached_property
    def gemm_gflops(self) -> float | None:
        """The machine's rate of matrix products, measured once in a process of its own."""
        return self.run("measure", lambda: {"gflops": gemm_gflops()}).get("gflops")

    def run(self, stage: str, fit: Callable[[], Report]) -> Report:
        """Call ``fit`` in a fork; add ``status`` and ``peak_rss_mb`` to the dict for JSON that it returns.

        An exception makes a ``failure`` with the ``stage``. Raises a MachineFaultError if the disk is full or
        failing, or, before the last attempt, the child was killed or out of memory.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        reader, writer = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            os.close(reader)
            end_with_parent(parent)
            self._run_in_child(fit, writer)
        os.close(writer)
        workflow = os.getppid() if self.workflow is None else self.workflow
        report, in_time = _read_report(reader, child, self.time_limit, workflow)
        _, status, usage = os.wait4(child, 0)
        peak = {"peak_rss_mb": round(usage.ru_maxrss / 1024, 1)}
        if not in_time:
            message = f"took longer than the time limit of {self.time_limit:g} s"
            return peak | self._failed(stage, "TimeLimit", message)
        if not report:
            return peak | self._killed(stage, status)
        outcome: Report = json.loads(report)
        if fault := outcome.get("machine_fault"):
            raise MachineFaultError(f"{stage}: {fault}")
        if error := outcome.get("error"):
            if error[0] == "MemoryError" and not self.last_attempt:
                raise MachineFaultError(f"{stage}: out of memory ({error[1]}); tried again with more")
            return peak | self._failed(stage, *error)
        return {"status": "ok"} | outcome | peak

    def _run_in_child(self, fit: Callable[[], Report], writer: int) -> None:
        from threadpoolctl import threadpool_limits

        try:
            with threadpool_limits(self.threads):
                report = json.dumps(fit(), allow_nan=False, default=_python_number)
        except Exception as error:
            logger.error("%s", traceback.format_exc())
            fault = machine_fault(error)
            out_of_memory = any(isinstance(cause, MemoryError) for cause in _causes(error))
            kind = "MemoryError" if out_of_memory else type(error).__name__
            report = json.dumps({"machine_fault": fault} if fault else {"error": [kind, str(error)]})
        with os.fdopen(writer, "w") as stream:
            stream.write(report)
        logging.shutdown()
        os._exit(0)

    def _killed(self, stage: str, status: int) -> Report:
        if os.WIFSIGNALED(status):
            cause = f"signal {signal.Signals(os.WTERMSIG(status)).name}"
        else:
            cause = f"status {os.waitstatus_to_exitcode(status)}"
        hint = " (usually out of memory)" if cause == "signal SIGKILL" else ""
        message = f"the process ended with {cause}{hint}"
        if not self.last_attempt:
            raise MachineFaultError(f"{stage}: {message}; tried again")
        return self._failed(stage, "Killed", message)

    def _failed(self, stage: str, kind: str, message: str) -> Report:
        return {"status": "failed", "failure": failure(stage, kind, message, self.log)}


def _python_number(value: Any) -> Any:
    """Return a number of NumPy, as protocols give them, as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        f"{type(value).__name__} cannot be recorded: give numbers, texts, lists and dicts of them"
    )


def failure(stage: str, kind: str, message: str, log: Path | None) -> dict[str, str | None]:
    """Return why a run has no metrics, as its record holds it."""
    return {"stage": stage, "type": kind, "message": message[:2000], "log": None if log is None else str(log)}


def machine_fault(error: BaseException) -> str | None:
    """Return what is wrong with the machine, or a file that was damaged, if that caused an exception."""
    for cause in _causes(error):
        if isinstance(cause, DamagedFileError):
            return str(cause)
        # NumPy reports a full disk without an error number: ``1024 requested and 0 written``.
        short = isinstance(cause, OSError) and " requested and " in str(cause) and " written" in str(cause)
        if isinstance(cause, OSError) and (cause.errno in _MACHINE_ERRORS or short):
            return f"{type(cause).__name__}: {cause}"
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _read_report(reader: int, child: int, time_limit: float | None, workflow: int) -> tuple[bytes, bool]:
    """Read what the child writes, and say whether it was in time; kill it when the workflow has ended."""
    deadline = time.monotonic() + (float("inf") if time_limit is None else time_limit)
    chunks: list[bytes] = []
    with os.fdopen(reader, "rb", buffering=0) as stream:
        while True:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([stream], [], [], max(0.0, min(1.0, left)))
            if ready:
                chunk = stream.read(1 << 16)
                if not chunk:
                    return b"".join(chunks), True
                chunks.append(chunk)
            elif left <= 0:
                os.kill(child, signal.SIGKILL)
                return b"", False
            elif os.getppid() != workflow:
                os.kill(child, signal.SIGKILL)
                raise SystemExit("the workflow that started this job has ended")


def gemm_gflops() -> float:
    """Return the best rate of three products of float32 matrices, in 10^9 operations a second."""
    generator = np.random.default_rng(0)
    first, second = generator.standard_normal((2, _GEMM_SIZE, _GEMM_SIZE), dtype=np.float32)
    product = np.empty_like(first)
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        np.matmul(first, second, out=product)
        seconds.append(time.perf_counter() - started)
    return 2 * _GEMM_SIZE**3 / min(seconds) / 1e9


def end_with_parent(parent: int | None = None, sent: int = signal.SIGKILL) -> None:
    """Ask Linux for a signal when the parent of this process ends; end now if ``parent`` already has."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, sent)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def run_stoppable(command: Sequence[str]) -> int:
    """Run a command and return its exit code; a signal interrupts all that it started, a second one kills it.

    Snakemake alone waits for its jobs after SIGTERM, and prints a traceback after a second Ctrl-C.
    """

    def prepare() -> None:
        end_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = subprocess.Popen(command, process_group=0, preexec_fn=prepare)
    asked = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        os.killpg(process.pid, signal.SIGINT if asked == 1 else signal.SIGKILL)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    code = process.wait()
    if asked:
        print("Stopped. Finished work is kept; the same command continues.", file=sys.stderr)
    return code if code >= 0 else 128 - code


def is_watched() -> bool:
    """Return whether the workflow's view shows the log of the job, which then says nothing beside it."""
    return bool(os.environ.get("EIGENBENCH_WATCHED"))


def log_to(path: Path) -> None:
    """Log to a file in full, and errors to the terminal, unless the workflow's view shows them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handlers: list[logging.Handler] = [logging.FileHandler(path, mode="w", encoding="utf-8")]
    if not is_watched():
        terminal = logging.StreamHandler(sys.stderr)
        terminal.setLevel(logging.ERROR)
        handlers.append(terminal)
    logging.basicConfig(
        level=logging.WARNING, handlers=handlers, format="%(asctime)s %(message)s", datefmt="%H:%M:%S"
    )
    logging.getLogger("eigenbench").setLevel(logging.INFO)
    logging.captureWarnings(True)
