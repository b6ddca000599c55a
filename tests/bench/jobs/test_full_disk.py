"""A full disk: files are whole or absent, what was there before stays, and no run is recorded as failed."""

from __future__ import annotations

import errno

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from small_jobs import plan_of

from eigenbench.atomic_files import write_json
from eigenbench.bench.jobs import train
from eigenbench.bench.jobs.__main__ import main
from eigenbench.bench.jobs.supervision import MachineFaultError
from eigenbench.methods.model_file import load_model, save_model

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize("there_before", [False, True])
def test_nothing_half_written_is_left(tmp_path, largest_file, there_before):
    model = LogisticRegression().fit(np.eye(4), [0, 0, 1, 1])
    files = {tmp_path / "model.skops": lambda path: save_model(path, model)}
    files[tmp_path / "record.json"] = lambda path: write_json(path, {"values": list(range(99))})
    if there_before:
        for path, write in files.items():
            write(path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    largest_file(100)
    for path, write in files.items():
        with pytest.raises(OSError) as raised:
            write(path)
        assert raised.value.errno in (errno.EFBIG, errno.ENOSPC)
    largest_file(None)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    for path, write in files.items():
        write(path)
    np.testing.assert_array_equal(load_model(tmp_path / "model.skops").coef_, model.coef_)


def records(jobs):
    return list(jobs.results.rglob("record.json"))


def test_a_full_disk_is_no_result_and_the_next_attempt_makes_one(jobs, largest_file):
    method = plan_of()
    largest_file(100)
    with pytest.raises((MachineFaultError, OSError)):
        jobs.run(method, last_attempt=True)
    largest_file(None)
    assert not records(jobs)
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
