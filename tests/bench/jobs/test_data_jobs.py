"""Downloading and preparing: what cannot be used is an outcome with its reason, what failed is an error."""

import errno
import json
from pathlib import Path

import pytest

from eigenbench.bench.jobs import data
from eigenbench.bench.jobs.__main__ import main
from eigenbench.datasets.errors import DatasetUnavailable, InsufficientSpace, MalformedData


@pytest.fixture
def run(tmp_path):
    """Run a job on digits as the workflow does; return its exit status and what it wrote, if anything."""

    def run_job(verb, folder):
        options = ["--data-dir", str(tmp_path), "--log", str(tmp_path / "logs" / "job.log"), "--replaces=7"]
        status = main([verb, "digits", *options])
        path = tmp_path / folder / "digits.json"
        return status, json.loads(path.read_bytes()) if path.exists() else None

    return run_job


def test_real_data_is_fetched_and_prepared(run, tmp_path):
    status, downloaded = run("download", "raw")
    assert (status, downloaded["status"], downloaded["failure"]) == (0, "ok", None)
    status, prepared = run("prepare", "prepared")
    assert (status, prepared["status"], prepared["replaces"]) == (0, "ok", "7")
    assert prepared["card"]["n_features"] == 64
    assert prepared["card"] == json.loads((tmp_path / "prepared" / "digits" / "card.json").read_bytes())


@pytest.fixture
def failing(run, monkeypatch):
    """Return a function that lets the download, or what follows it, raise an error."""

    def fail(step, error):
        def refuse(name, *, data_dir, catalogue, progress):
            raise error

        if step == "prepare":
            run("download", "raw")
        monkeypatch.setattr(data, {"download": "fetch", "prepare": "prepare_arrays"}[step], refuse)

    return fail


NO_SOURCE = DatasetUnavailable("digits", "digits.csv", ["mirror: no such file"], Path("raw"))
MALFORMED = MalformedData("digits.csv", "line 7", "NaN in column 3")


@pytest.mark.parametrize(
    ("step", "error", "status"), [("download", NO_SOURCE, "not_run"), ("prepare", MALFORMED, "failed")]
)
def test_data_that_cannot_be_used_is_an_outcome_with_its_reason(run, failing, tmp_path, step, error, status):
    failing(step, error)
    if step == "download":
        assert run("download", "raw")[0] == 0
    code, prepared = run("prepare", "prepared")
    assert (code, prepared["status"]) == (0, status)
    assert (prepared["failure"]["stage"], prepared["failure"]["message"]) == (step, str(error))
    assert prepared["card"] is None
    assert (tmp_path / "prepared" / "digits").is_dir(), "an output of the rule in both cases"


@pytest.mark.parametrize("error", [InsufficientSpace("disk full"), OSError(errno.EIO, "input/output error")])
@pytest.mark.parametrize(("step", "folder"), [("download", "raw"), ("prepare", "prepared")])
def test_a_fault_of_the_machine_fails_the_job_and_writes_nothing(run, failing, step, folder, error):
    failing(step, error)
    assert run(step, folder) == (1, None)
