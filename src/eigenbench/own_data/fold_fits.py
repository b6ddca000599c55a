"""Fit all methods fold by fold, the cheap ones first: the process that `eigenbench.own_data.progress` starts.

It imports the libraries and prepares the data once, and forks for every run. The files are those that the
workflow of suites makes. Runs of the same data, settings and code that have a result are kept.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from argparse import Namespace
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from eigenbench.atomic_files import remove_unfinished, write_json
from eigenbench.bench.jobs.job_context import (
    JobContext,
    dataset_info,
    describe_environment,
    now,
    write_run_record,
)
from eigenbench.bench.jobs.measure import run as measure
from eigenbench.bench.jobs.plan import SuitePlan, load_plan
from eigenbench.bench.jobs.shared_jobs import job_code
from eigenbench.bench.jobs.supervision import Supervisor, end_with_parent, failure, log_to
from eigenbench.bench.jobs.train import train
from eigenbench.bench.records.record import read_record, read_record_and_files
from eigenbench.bench.records.runs import TRAINED_FILES, Run
from eigenbench.bench.records.sealed_json import DamagedFileError
from eigenbench.bench.suites.suite_file import catalogue_of
from eigenbench.datasets.preparing import prepare
from eigenbench.own_data.compared_methods import seconds_of_classifier
from eigenbench.own_data.workspace import EXPERIMENT, Workspace


def fit_in_order(workspace: Workspace, cores: int) -> None:
    """Fit what is not done, so many runs at once; a method that fails is left out of later folds.

    All methods do the first fold before any does the second; within a fold they come by estimated time.
    """
    workspace.results.mkdir(exist_ok=True)
    remove_unfinished(workspace.results)
    plan = load_plan(workspace.suite)
    data_sum, contexts = _contexts(workspace, plan)
    entry = catalogue_of(plan.suite).entry(plan.runs[0].dataset)
    seconds = {
        (*_method(run), run.classifier): method.seconds_of_fit + seconds_of_classifier(run.classifier, entry)
        for method in plan.methods
        for run in method.runs
    }
    # Curves are fitted after the answer, which then stays as it is.
    runs = [run for run in plan.runs if run.experiment != EXPERIMENT] or plan.runs
    waiting = sorted(runs, key=lambda run: (run.seed, seconds[*_method(run), run.classifier]))
    waiting = [run for run in waiting if not _is_done(run, contexts[_method(run)], data_sum)]
    for run in waiting:
        shutil.rmtree(workspace.results / run.folder, ignore_errors=True)
    gc.freeze()  # or each fork copies all memory that the collector visits, .2 s a run
    running: dict[Future[None], Run] = {}
    forks = get_context("fork")
    with ProcessPoolExecutor(cores, forks, initializer=end_with_parent, initargs=(os.getpid(),)) as pool:
        while waiting or running:
            while waiting and len(running) < cores:
                found = waiting.pop(0)
                running[pool.submit(_fit, contexts[_method(found)], found)] = found
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                run = running.pop(future)
                future.result()
                if later := _left_out(run, waiting, contexts[_method(run)]):
                    waiting = [other for other in waiting if other not in later]


def _method(run: Run) -> tuple[str, str]:
    return run.experiment, run.method


def _contexts(workspace: Workspace, plan: SuitePlan) -> tuple[str, dict[tuple[str, str], JobContext]]:
    """Prepare the data, and load all that the forked processes are to share; return the sum of the data."""
    data = workspace.folder / "data"
    specs = [method.spec for method in plan.methods]
    card = prepare(specs[0].dataset, data_dir=data, catalogue=catalogue_of(plan.suite), progress=False)
    state = {"dataset": card.name, "status": "ok", "failure": None, "card": card.model_dump(mode="json")}
    write_json(data / "prepared" / f"{card.name}.json", state)
    supervisor = Supervisor(1, workspace.log, last_attempt=True, time_limit=specs[0].time_limit)
    describe_environment(1, "", supervisor.gemm_gflops)
    contexts, verified = {}, {data / "prepared" / card.name}  # `prepare` has read it
    for spec in specs:
        options = Namespace(
            data_dir=data,
            results_dir=workspace.results,
            log=workspace.log,
            code=job_code("measure" if spec.protocol else "train", spec),
            replaces={},
        )
        contexts[spec.experiment, spec.method] = JobContext(spec, options, supervisor, verified)
        contexts[spec.experiment, spec.method].obstacle()
    return dataset_info(state).sha256, contexts


def _is_done(run: Run, context: JobContext, data_sum: str) -> bool:
    """Return whether a run has a result of these data, settings and this code."""
    path = context.options.results_dir / run.record
    try:
        record = read_record_and_files(path, *(() if context.spec.protocol else TRAINED_FILES[1:]))
    except DamagedFileError:
        return False
    assert record.environment is not None
    assert record.dataset_info is not None
    found = (record.status, record.run_key, record.environment.code_hash, record.dataset_info.sha256)
    return found == ("ok", run.key, context.options.code, data_sum)


def _fit(context: JobContext, run: Run) -> None:
    if context.spec.protocol is not None:
        measure(context, run.seed)
    else:
        train(context, run.classifier, run.seed)


def _left_out(run: Run, waiting: list[Run], context: JobContext) -> list[Run]:
    """Write records of the later folds of a run that failed, and return them."""
    reason = read_record(context.options.results_dir / run.record).failure
    if reason is None or context.spec.protocol is not None:
        return []
    message = f"left out, as it failed on an earlier fold ({reason.message})"
    report = {"status": "not_run", "failure": failure("train", "LeftOut", message, context.options.log)}
    later = [one for one in waiting if (*_method(one), one.classifier) == (*_method(run), run.classifier)]
    for other in later:
        write_run_record(context, other.classifier, other.seed, [report], now())
    return later


if __name__ == "__main__":
    folder, n_cores = sys.argv[1:]
    log_to(Workspace(Path(folder)).log)
    fit_in_order(Workspace(Path(folder)), int(n_cores))
