"""The workflow on a real SLURM: jobs that are too large, too slow or cancelled, and a node that fails."""

import json

import mlflow
import pandas as pd
import pytest

pytestmark = pytest.mark.cluster

# First requests that are too small: the workflow's own are generous.
TOO_SMALL = [
    *("--set-resources", "prepare:mem_mb=20*100**(attempt-1)", "moments:runtime=attempt"),
    *("--slurm-init-seconds-before-status-checks", "2"),
]


@pytest.fixture(scope="module")
def faulty(slurm, tmp_path_factory, need_plugin, make_workflow):
    """A run on SLURM in which each fault happens, and the jobs that SLURM saw."""
    need_plugin("slurm")
    workflow = make_workflow(tmp_path_factory.mktemp("faulty"), "faults", "slurm")
    with workflow.started(*TOO_SMALL) as process:
        slurm.freeze("moments")
        lost = slurm.freeze("lost")
        slurm.cancel(slurm.freeze("cancelled"))
        slurm.wait_for("moments", "TIMEOUT")
        slurm.kill_node(lost.node)
        slurm.wait_for("lost", "NODE_FAIL")
        slurm.wait_for("lost", "RUNNING", attempt=2)
        slurm.thaw(lost)
        slurm.start_node(lost.node)
        assert process.wait(timeout=300) == 0, workflow.printed()[-6000:]
    return workflow, slurm.jobs()


def attempts(faulty, word):
    return [job for job in faulty[1] if word in job.comment]


def test_every_record_is_there_once(faulty):
    workflow, _ = faulty
    assert sorted(path.name for path in workflow.record_files()) == sorted(workflow.planned_records())
    records = [json.loads(path.read_bytes()) for path in workflow.record_files()]
    assert {record["status"] for record in records} == {"ok"}
    results = pd.read_csv(workflow.folder / "reports" / "results.csv")
    assert not results.duplicated(["run_key", "metric"]).any()
    assert set(results.run_key) == {record["run_key"] for record in records}


def test_every_record_is_in_mlflow_once(faulty):
    workflow, _ = faulty
    client = mlflow.MlflowClient(f"sqlite:///{workflow.folder}/mlflow.db")
    (experiment,) = (each for each in client.search_experiments() if each.name == "faults")
    keys = [run.data.tags["run_key"] for run in client.search_runs([experiment.experiment_id])]
    assert sorted(f"{key}.json" for key in keys) == sorted(workflow.planned_records())


def test_a_job_out_of_memory_asks_for_more(faulty, slurm):
    first, second = attempts(faulty, "prepare")
    assert first.state == "FAILED"
    assert "Exceeded job memory limit" in slurm.node_log(first.node)
    assert second.state == "COMPLETED"
    assert second.memory_mb == 100 * first.memory_mb


def test_a_job_out_of_time_asks_for_more(faulty):
    first, *_, last = attempts(faulty, "moments")
    assert (first.state, first.minutes) == ("TIMEOUT", 1)
    assert last.state == "COMPLETED"
    assert last.minutes > first.minutes


def test_a_cancelled_job_is_submitted_again(faulty):
    first, *_, last = attempts(faulty, ".cancelled")
    assert first.state == "CANCELLED"
    assert last.state == "COMPLETED"
    assert last.memory_mb >= 2 * first.memory_mb


def test_a_job_of_a_failed_node_is_submitted_again(faulty):
    first, *_, last = attempts(faulty, ".lost")
    assert first.state == "NODE_FAIL"
    assert last.state == "COMPLETED"


def test_a_method_and_a_packed_experiment_are_one_job_each(faulty):
    done = [job.comment for job in faulty[1] if job.state == "COMPLETED"]
    for group in ("methods.gem", "methods.plain", "packed.0"):
        assert sum(f"faults.{group}" in comment for comment in done) == 1, done
    assert len(done) == 2 + 4 + 1, "prepare, moments, four methods and the packed experiment"


def test_hooks_run_once_in_the_process_that_submits(faulty):
    workflow, _ = faulty
    assert workflow.printed().count("Report:") == 1
    assert "another run" not in workflow.printed()
