"""A full disk: files are whole or absent, what was there before stays, and no run is recorded as failed."""

from __future__ import annotations

import errno

import pytest
from small_jobs import plan_of

from eigenbench.bench.jobs import train
from eigenbench.bench.jobs.__main__ import main
from eigenbench.bench.jobs.supervision import MachineFaultError

pytestmark = pytest.mark.workflow


def records(jobs):
    return list(jobs.results.rglob("record.json"))


def test_a_full_disk_is_no_result_and_the_next_attempt_makes_one(jobs, largest_file):
    """Earlier files stay as they were, and no part of a file is left."""
    method = plan_of()

    def files():
        return {path: path.read_bytes() for path in jobs.results.rglob("*") if path.is_file()}

    for _ in range(2):
        before = files()
        largest_file(100)
        with pytest.raises((MachineFaultError, OSError)):
            jobs.run(method, last_attempt=True)
        largest_file(None)
        assert files() == before
        assert jobs.run(method)["CalibratedLeastSquares"].status == "ok"


def fail_with(error):
    def fail(*args, **kwargs):
        raise error

    return fail


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), MemoryError()])
def test_a_fault_of_the_machine_in_a_candidate_is_not_that_of_the_candidate(jobs, monkeypatch, error):
    monkeypatch.setattr("eigenbench.bench.jobs.train.score_run", fail_with(error))
    method = plan_of(classifiers={"CalibratedLeastSquares": {"grid": {"ridge": [1.0, 2.0]}}})
    with pytest.raises(MachineFaultError, match="search"):
        jobs.run(method, last_attempt=False)
    assert not records(jobs)


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), MachineFaultError("killed")]
)
def test_the_job_ends_with_an_error_for_the_workflow_to_try_again(jobs, tmp_path, monkeypatch, error):
    monkeypatch.setattr(train, "write_run_record", fail_with(error))
    arguments = ["train", "--job", plan_of().spec.model_dump_json(exclude_defaults=True), "--seeds", "0"]
    arguments += ["--data-dir", str(jobs.data), "--results-dir", str(jobs.results)]
    arguments += ["--log", str(tmp_path / "job.log")]
    assert main(arguments) == 1
    assert not records(jobs)
