"""A task runs in its own process: whatever happens to it, its job reports it."""

import os
import signal

import numpy as np
import pytest
from eigenbench.experiments.job import JobContext, TaskKilledError, run_unit
from eigenbench.experiments.workspace import Workspace

from eigenbench.atomic_files import write_json
from eigenbench.experiments import stages
from eigenbench.experiments.plan import make_plan
from eigenbench.experiments.suite import Suite


@pytest.fixture
def plan():
    experiment = {
        "dataset": "digits",
        "methods": {"random": {"steps": ["RandomDirections"]}},
        "classifiers": ["LinearSVC"],
        "seeds": [0, 1],
        "pack": True,
    }
    suite = Suite.model_validate({"name": "s", "title": "t", "experiments": {"main": experiment}})
    return make_plan(suite, {"digits": True})


@pytest.fixture
def workspace(tmp_path):
    outcome = {"status": "ok", "failure": None, "folder": str(tmp_path), "card": {}, "sha256": "0" * 64}
    write_json(tmp_path / "datasets" / "digits.prepared.json", outcome)
    return Workspace(tmp_path)


def unit(plan, stage):
    return next(unit for unit in plan.units.values() if unit.stage == stage)


def run(plan, workspace, monkeypatch, action, stage="embed", last_attempt=True):
    """Run a unit whose tasks do ``action(task)``, in the forked child."""
    monkeypatch.setattr(stages.StageRunner, "run", lambda self, task: action(task))
    context = JobContext(threads=1, log=workspace.root / "job.log", last_attempt=last_attempt)
    return run_unit(plan, unit(plan, stage), workspace, context)


def statuses(manifest):
    return [task["status"] for task in manifest["tasks"]]


def test_an_exception_is_a_failed_task_and_the_next_one_runs(plan, workspace, monkeypatch):
    first = unit(plan, "embed").tasks[0]

    def action(task):
        if task.key == first.key:
            raise ValueError("gamma must be positive, found -1")
        return {"files": []}

    assert statuses(run(plan, workspace, monkeypatch, action)) == ["failed", "ok"]
    failure = workspace.read_meta(first)["failure"]
    assert failure["type"] == "ValueError"
    assert failure["message"] == "gamma must be positive, found -1"
    assert failure["log"].endswith("job.log")


def test_a_failure_is_inherited_with_its_origin(plan, workspace, monkeypatch):
    def fail(task):
        raise ValueError("no")

    run(plan, workspace, monkeypatch, fail)
    manifest = run(plan, workspace, monkeypatch, lambda task: {"files": []}, stage="train")
    assert statuses(manifest) == ["failed", "failed"]
    assert workspace.read_meta(unit(plan, "train").tasks[0])["failure"]["stage"] == "embed"


def test_a_killed_task_is_failed_on_the_last_attempt(plan, workspace, monkeypatch):
    manifest = run(plan, workspace, monkeypatch, lambda task: os.kill(os.getpid(), signal.SIGKILL))
    assert statuses(manifest) == ["failed", "failed"]
    assert "SIGKILL" in workspace.read_meta(unit(plan, "embed").tasks[0])["failure"]["message"]


def test_a_killed_task_fails_the_job_before_the_last_attempt(plan, workspace, monkeypatch):
    def kill(task):
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(TaskKilledError, match="SIGTERM"):
        run(plan, workspace, monkeypatch, kill, last_attempt=False)


def test_memory_is_the_tasks_own(plan, workspace, monkeypatch):
    large = unit(plan, "embed").tasks[0]

    def action(task):
        if task.key == large.key:
            np.ones(40_000_000)
        return {"files": []}

    run(plan, workspace, monkeypatch, action)
    peaks = [workspace.read_meta(task)["peak_rss_mb"] for task in unit(plan, "embed").tasks]
    assert peaks[0] - peaks[1] > 250


def test_finished_tasks_are_not_run_again_unless_their_files_changed(plan, workspace, monkeypatch):
    log = workspace.root / "calls"

    def action(task):
        with log.open("a") as stream:
            stream.write(task.key + "\n")
        folder = workspace.artifact(task)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "file").write_text("content")
        return {"files": ["file"]}

    for _ in range(2):
        run(plan, workspace, monkeypatch, action)
    assert len(log.read_text().splitlines()) == 2
    altered = unit(plan, "embed").tasks[1]
    (workspace.artifact(altered) / "file").write_text("cut")
    run(plan, workspace, monkeypatch, action)
    assert log.read_text().splitlines()[2:] == [altered.key]


def test_a_dataset_that_is_not_there_makes_the_task_not_run(plan, workspace, monkeypatch):
    failure = {"stage": "download", "type": "DatasetUnavailable", "message": "no source", "log": None}
    outcome = {"status": "not_run", "failure": failure, "folder": None, "card": None, "sha256": None}
    write_json(workspace.root / "datasets" / "digits.prepared.json", outcome)
    manifest = run(plan, workspace, monkeypatch, lambda task: {"files": []})
    assert statuses(manifest) == ["not_run", "not_run"]
    assert workspace.read_meta(unit(plan, "embed").tasks[0])["failure"] == failure
