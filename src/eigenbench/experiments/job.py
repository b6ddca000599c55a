"""Run the tasks of one unit, each in a process of its own under supervision.

The job process imports the libraries once and forks for every task. So a task that is killed (out of
memory, a crash in native code) becomes a failed task instead of a lost job, its peak memory is its own,
and nothing keeps running when the workflow that started the job is gone.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import select
import signal
import sys
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eigenbench.experiments.code_hash import unit_code_hash
from eigenbench.experiments.environment import describe_environment
from eigenbench.experiments.plan import Plan
from eigenbench.experiments.tasks import Task, Unit, content_key
from eigenbench.experiments.workspace import Workspace, sha256
from eigenbench.protocols.available import PROTOCOLS
from eigenbench.registry import MissingExtraError, component

logger = logging.getLogger(__name__)

_PR_SET_PDEATHSIG = 1

Datasets = dict[str, dict[str, Any]]
Prepared = dict[str, Path]


@dataclass(frozen=True)
class JobContext:
    """How a job was started.

    Attributes
    ----------
    threads : int
        BLAS and OpenMP threads.
    log : Path
        The log file, named in the records of failed runs.
    last_attempt : bool
        Whether a killed task is recorded as failed; otherwise the job fails and the workflow retries
        it with more memory and time.
    """

    threads: int
    log: Path
    last_attempt: bool


class TaskKilledError(RuntimeError):
    """A task's process ended without a report, and the workflow is to try again."""


def run_unit(plan: Plan, unit: Unit, workspace: Workspace, context: JobContext) -> dict[str, Any]:
    """Execute what is not yet done of a unit and return its manifest.

    Raises
    ------
    TaskKilledError
        If a task's process was killed and this is not the last attempt.
    """
    code_hash = unit_code_hash(unit)
    datasets = {name: workspace.dataset(name) for name in unit.datasets}
    entries = []
    for number, task in enumerate(unit.tasks, start=1):
        logger.info("%s %s, %d of %d", unit.stage, unit.label, number, len(unit.tasks))
        meta = _run_task(task, datasets, code_hash, workspace, context)
        entries.append({"key": task.key, "status": meta["status"]})
    return {"unit": unit.id, "stage": unit.stage, "label": unit.label, "tasks": entries}


def _run_task(
    task: Task, datasets: Datasets, code_hash: str, workspace: Workspace, context: JobContext
) -> dict[str, Any]:
    upstream = [workspace.read_meta(need) for need in task.needs]
    sources = [
        *(dataset["sha256"] for dataset in datasets.values()),
        *(meta["fingerprint"] for meta in upstream),
    ]
    fingerprint = content_key([task.key, code_hash, sources], 64)
    if workspace.is_current(task, fingerprint):
        logger.info("already there")
        return workspace.read_meta(task)
    base = {"stage": task.stage, "key": task.key, "fingerprint": fingerprint, "started": _now()}
    blocked = _blocked(task, datasets, upstream)
    if blocked:
        meta = base | blocked
    else:
        prepared = {name: Path(dataset["folder"]) for name, dataset in datasets.items()}
        meta = base | _supervise(task, workspace, prepared, context)
        if task.stage in ("train", "measure"):
            meta["environment"] = describe_environment(context.threads, code_hash).model_dump()
    workspace.write_meta(task, meta | {"finished": _now()})
    return meta


def _blocked(task: Task, datasets: Datasets, upstream: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the failure a task inherits: its datasets', or that of what it needs."""
    for dataset in datasets.values():
        if dataset["status"] != "ok":
            return {"status": dataset["status"], "failure": dataset["failure"]}
    if task.stage == "select" and any(meta["status"] == "ok" for meta in upstream):
        return None
    for meta in upstream:
        if meta["status"] != "ok":
            return {"status": meta["status"], "failure": meta["failure"]}
    return None


def _supervise(task: Task, workspace: Workspace, prepared: Prepared, context: JobContext) -> dict[str, Any]:
    """Fork, run the task in the child, and return its report with the child's peak memory."""
    try:
        _import_for(task)
    except MissingExtraError as error:
        return {"status": "not_run", "failure": _failure(task, type(error).__name__, str(error), context)}
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _die_with_parent(parent)
        _run_in_child(task, workspace, prepared, context, writer)
    os.close(writer)
    report = _read_report(reader, child)
    _, status, usage = os.wait4(child, 0)
    peak = {"peak_rss_mb": round(usage.ru_maxrss / 1024, 1)}
    if report:
        outcome = json.loads(report)
        outcome["files"] = {
            name: sha256(workspace.artifact(task) / name) for name in outcome.get("files", ())
        }
        return outcome | peak
    return peak | _killed(task, status, context)


def _killed(task: Task, status: int, context: JobContext) -> dict[str, Any]:
    cause = (
        f"signal {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else f"status {status}"
    )
    message = f"the process ended with {cause} (SIGKILL: usually out of memory)"
    if not context.last_attempt:
        raise TaskKilledError(
            f"{task.stage} {task.key}: {message}; the workflow tries again with more memory"
        )
    return {"status": "failed", "failure": _failure(task, "Killed", message, context)}


def _run_in_child(
    task: Task, workspace: Workspace, prepared: Prepared, context: JobContext, writer: int
) -> None:
    from threadpoolctl import threadpool_limits

    from eigenbench.experiments.stages import StageRunner

    try:
        with threadpool_limits(context.threads):
            outcome = {"status": "ok"} | StageRunner(workspace, prepared).run(task)
        report = json.dumps(outcome, allow_nan=False)
    except Exception as error:
        logger.error("%s", traceback.format_exc())
        failure = _failure(task, type(error).__name__, str(error), context)
        report = json.dumps({"status": "failed", "failure": failure})
    with os.fdopen(writer, "w") as stream:
        stream.write(report)
    logging.shutdown()
    os._exit(0)


def _failure(task: Task, kind: str, message: str, context: JobContext) -> dict[str, str]:
    return {"stage": task.stage, "type": kind, "message": message[:2000], "log": str(context.log)}


def _read_report(reader: int, child: int) -> bytes:
    """Read what the child writes until it closes the pipe; end it if the workflow is gone."""
    workflow = os.getppid()
    chunks: list[bytes] = []
    with os.fdopen(reader, "rb", buffering=0) as stream:
        while True:
            ready, _, _ = select.select([stream], [], [], 1.0)
            if ready:
                chunk = stream.read(1 << 16)
                if not chunk:
                    return b"".join(chunks)
                chunks.append(chunk)
            elif os.getppid() != workflow:
                os.kill(child, signal.SIGKILL)
                raise SystemExit("the workflow that started this job is gone")


def _die_with_parent(parent: int) -> None:
    """Ask the kernel to end this process with its parent (Linux; elsewhere the parent's poll does it)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _import_for(task: Task) -> None:
    """Import in the job process what the task needs, so that its forked child, and the next ones, have it."""
    import eigenbench.experiments.stages  # noqa: F401

    for step in [*task.spec.get("steps", ()), *filter(None, [task.spec.get("classifier")])]:
        component(step["component"]).load()
    if "protocol" in task.spec:
        PROTOCOLS[task.spec["protocol"]].load()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
