"""The workflow on a real SLURM: jobs that are too large, too slow or cancelled, and a node that fails."""

import json

import pandas as pd
import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

# First requests that are too small, as the workflow's own are generous, and a SLURM job for each method.
OPTIONS = [
    *("--set-resources", "prepare:mem_mb=20*100**(attempt-1)", "train_faults_seeds:runtime=attempt"),
    *("--slurm-init-seconds-before-status-checks", "2"),
    *("--group-components", "method=1"),
    *("--default-resources", "slurm_partition=short"),
]

CANCELLED, LOST, SLOW = "train_faults_methods", "train_faults_methods_2", "train_faults_seeds"


@pytest.fixture(scope="module")
def faulty(slurm, tmp_path_factory, need_plugin, make_workflow):
    """A run on SLURM in which each fault happens, and the jobs that SLURM saw."""
    need_plugin("slurm")
    workflow = make_workflow(tmp_path_factory.mktemp("faulty"), "faults", "slurm")
    with workflow.started(*OPTIONS) as process:
        slurm.freeze(SLOW)
        lost = slurm.freeze(LOST)
        slurm.cancel(slurm.freeze(CANCELLED))
        slurm.wait_for(SLOW, "TIMEOUT")
        slurm.kill_node(lost.node)
        slurm.wait_for(LOST, "NODE_FAIL")
        slurm.wait_for(LOST, "RUNNING", attempt=2)
        slurm.thaw(lost)
        slurm.start_node(lost.node)
        assert process.wait(timeout=300) == 0, workflow.printed()[-6000:]
    return workflow, slurm.jobs()


def attempts(faulty, name):
    return [job for job in faulty[1] if name in job.names]


def test_every_record_is_there_once(faulty):
    workflow, _ = faulty
    assert workflow.records() == workflow.planned_records()
    records = [json.loads((workflow.results / name).read_bytes()) for name in workflow.records()]
    assert {record["status"] for record in records} == {"ok"}
    results = pd.read_csv(workflow.folder / "reports" / "results.csv")
    assert not results.duplicated(["run_key", "metric"]).any()
    assert set(results.run_key) == {record["run_key"] for record in records}


def test_a_job_out_of_memory_is_tried_again(faulty, slurm):
    first, second = attempts(faulty, "prepare")
    assert first.state == "FAILED"
    assert "Exceeded job memory limit" in slurm.node_log(first.node)
    assert second.state == "COMPLETED"
    assert "failed: prepare digits (out of memory)" in faulty[0].printed()


def test_a_job_out_of_time_is_tried_again_with_more(faulty):
    first, *_, last = attempts(faulty, SLOW)
    assert (first.state, first.minutes) == ("TIMEOUT", 1)
    assert last.state == "COMPLETED"
    assert last.memory_mb == 2 * first.memory_mb
    assert "(out of time)" in faulty[0].printed()


@pytest.mark.parametrize(("name", "state"), [(CANCELLED, "CANCELLED"), (LOST, "NODE_FAIL")])
def test_a_job_that_was_cancelled_or_lost_with_its_node_is_submitted_again(faulty, name, state):
    first, *_, last = attempts(faulty, name)
    assert (first.state, last.state) == (state, "COMPLETED")
    if state == "CANCELLED":
        assert "(cancelled)" in faulty[0].printed()
    assert "sacct" not in faulty[0].printed()


def test_runs_that_belong_together_are_one_job(faulty):
    completed = (job.targets for job in faulty[1] if job.state == "COMPLETED")
    rules = sorted(sorted(target.partition(":")[0] for target in targets) for targets in completed)
    methods = [[f"train_faults_methods{end}"] for end in ("", "_2", "_3")]
    assert rules == [["prepare"], ["train"], *methods, ["train_faults_seeds"]]


def test_hooks_run_once_in_the_process_that_submits(faulty):
    workflow, _ = faulty
    assert workflow.printed().count("Report:") == 1
    assert "another run" not in workflow.printed()


def test_a_job_too_long_for_its_partition_is_named_and_does_not_wait_for_ever(
    slurm, tmp_path, need_plugin, make_workflow
):
    need_plugin("slurm")
    workflow = make_workflow(tmp_path / "long", "single", "slurm")
    with workflow.started(
        *OPTIONS[-2:], "--set-resources", "prepare:runtime=700", "--retries", "0"
    ) as process:
        assert process.wait(timeout=200) != 0
    assert "asks for 700 minutes, more than SLURM allows on the partition short" in workflow.printed()
