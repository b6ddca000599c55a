"""The profile for any batch command, with SLURM's commands."""

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def test_a_suite_is_run_and_a_cancelled_job_is_submitted_again(slurm, tmp_path, need_plugin, make_workflow):
    need_plugin("cluster-generic")
    before = len(slurm.jobs())
    workflow = make_workflow(tmp_path / "batch", "single", "batch")
    with workflow.started() as process:
        slurm.wait_until(lambda: len(slurm.jobs()) > before)
        first = slurm.jobs()[before]
        slurm.cancel(first)
        assert process.wait(timeout=300) == 0, workflow.printed()[-6000:]
    assert workflow.records() == workflow.planned_records()
    states = {job.id: job.state for job in slurm.jobs()[before:]}
    assert states.pop(first.id) == "CANCELLED"
    assert set(states.values()) == {"COMPLETED"}
    assert len(states) == 2, "prepare, and one job for the two methods"
