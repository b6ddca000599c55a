"""Fit all methods fold by fold, the cheap ones first: the process that `eigenbench.own_data.progress` starts.

It imports the libraries and prepares the data once, and forks for every run. The files are those that the
workflow of suites makes. Runs of the same data, settings and code that have a result are kept.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from argparse import Namespace
from pathlib import Path

from eigenbench.atomic_files import remove_unfinished, write_json
from eigenbench.bench.jobs.child_process import end_with_parent, log_to
from eigenbench.bench.jobs.embed import embedding_folder, write_embedding
from eigenbench.bench.jobs.job_context import JobContext
from eigenbench.bench.jobs.outputs import hold_lock
from eigenbench.bench.jobs.plan import MethodPlan, load_plan
from eigenbench.bench.jobs.record_run import dataset_info, describe_environment, now
from eigenbench.bench.jobs.shared_jobs import job_code
from eigenbench.bench.jobs.supervision import Supervisor, failure
from eigenbench.bench.jobs.train import fit_run, write_failed_run
from eigenbench.bench.records.record import read_record, read_record_and_files
from eigenbench.bench.records.runs import TRAINED_FILES, Run
from eigenbench.bench.records.sealed_json import DamagedFileError, read_sealed
from eigenbench.bench.suites.suite_file import catalogue_of
from eigenbench.datasets.preparing import prepare
from eigenbench.own_data.compared_methods import seconds_of_classifier
from eigenbench.own_data.workspace import Workspace

logger = logging.getLogger("eigenbench")


def fit_in_order(workspace: Workspace, cores: int) -> None:
    """Fit what is not done, so many runs at once; a method that fails is left out of later folds.

    Parameters
    ----------
    workspace : Workspace
        With the suite and the data; results are written into it.
    cores : int
        All methods do the first fold before any does the second; within a fold they come by estimated time.

    Raises
    ------
    RuntimeError
        If another process works there, or a run ends without a record.
    """
    workspace.results.mkdir(exist_ok=True)
    hold_lock(workspace.results)
    remove_unfinished(workspace.results)
    plan = load_plan(workspace.suite)
    data_sum, contexts = _contexts(workspace, plan.methods)
    entry = catalogue_of(plan.suite).entry(plan.runs[0].dataset)
    seconds = {
        (method.spec.method, name): method.seconds_of_fit + seconds_of_classifier(name, entry)
        for method in plan.methods
        for name in method.classifiers
    }
    waiting = sorted(plan.runs, key=lambda run: (run.seed, seconds[run.method, run.classifier]))
    waiting = [run for run in waiting if not _is_done(run, contexts[run.method], data_sum)]
    for run in waiting:
        shutil.rmtree(workspace.results / run.folder, ignore_errors=True)
    for run in waiting:
        _remove_unused_embedding(contexts[run.method], run.seed)
    running: dict[int, Run] = {}
    while waiting or running:
        while len(running) < cores and (found := _next(waiting, running, contexts)):
            waiting.remove(found)
            running[_started(contexts[found.method], found)] = found
        run = running.pop(os.wait()[0])
        record = read_record(workspace.results / run.record)
        if record.failure is not None:
            for later in [
                one for one in waiting if (one.method, one.classifier) == (run.method, run.classifier)
            ]:
                waiting.remove(later)
                message = f"left out, as it failed on an earlier fold ({record.failure.message})"
                reason = failure("train", "LeftOut", message, workspace.log)
                report = {"status": "not_run", "failure": reason}
                write_failed_run(contexts[run.method], run.classifier, later.seed, [report], now())


def _contexts(workspace: Workspace, methods: tuple[MethodPlan, ...]) -> tuple[str, dict[str, JobContext]]:
    """Prepare the data, and load all that the forked processes are to share; return the sum of the data."""
    data = workspace.folder / "data"
    specs = [method.spec for method in methods]
    catalogue = catalogue_of(load_plan(workspace.suite).suite)
    card = prepare(specs[0].dataset, data_dir=data, catalogue=catalogue, progress=False)
    state = {"dataset": card.name, "status": "ok", "failure": None, "card": card.model_dump(mode="json")}
    write_json(data / "prepared" / f"{card.name}.json", state)
    supervisor = Supervisor(1, workspace.log, last_attempt=True, time_limit=specs[0].time_limit)
    describe_environment(1, "", supervisor.gemm_gflops)
    contexts = {}
    for spec in specs:
        options = Namespace(
            data_dir=data,
            results_dir=workspace.results,
            log=workspace.log,
            code=job_code("train", spec),
            replaces={},
        )
        contexts[spec.method] = JobContext(spec, options, supervisor)
        contexts[spec.method].obstacle()
    return dataset_info(state).sha256, contexts


def _is_done(run: Run, context: JobContext, data_sum: str) -> bool:
    """Return whether a run has a result of these data, settings and this code."""
    path = context.options.results_dir / run.record
    try:
        record = read_record_and_files(path, *TRAINED_FILES[1:])
    except DamagedFileError:
        return False
    assert record.environment is not None
    assert record.dataset_info is not None
    found = (record.status, record.run_key, record.environment.code_hash, record.dataset_info.sha256)
    return found == ("ok", run.key, context.options.code, data_sum)


def _remove_unused_embedding(context: JobContext, seed: int) -> None:
    """Remove an embedding that no run with a result stands on, as it may be one of other data."""
    folder = embedding_folder(context, seed)
    if not list(folder.glob("*/record.json")):
        shutil.rmtree(folder, ignore_errors=True)


def _next(waiting: list[Run], running: dict[int, Run], contexts: dict[str, JobContext]) -> Run | None:
    """Return the first run that need not wait for an embedding that another one is fitting."""
    busy = {(run.method, run.seed) for run in running.values()}
    for run in waiting:
        file = embedding_folder(contexts[run.method], run.seed) / "embedding.json"
        if (
            (run.method, run.seed) not in busy
            or file.exists()
            or not contexts[run.method].spec.shares_embedding
        ):
            return run
    return None


def _started(context: JobContext, run: Run) -> int:
    """Fork a process that makes a run, and return its number."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    code = 1
    end_with_parent(parent)
    try:
        usable = context.obstacle() is None
        if context.spec.shares_embedding:
            path = embedding_folder(context, run.seed) / "embedding.json"
            report = read_sealed(path) if path.exists() else write_embedding(context, run.seed)
            usable = report["status"] == "ok"
        fit_run(context, run.classifier, run.seed, usable)
        code = 0
    except Exception:
        logger.exception("%s", run.folder)
    finally:
        os._exit(code)


if __name__ == "__main__":
    folder, n_cores = sys.argv[1:]
    log_to(Workspace(Path(folder)).log)
    fit_in_order(Workspace(Path(folder)), int(n_cores))
