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


@pytest.mark.parametrize(
    ("step", "error", "status"),
    [
        (
            "fetch",
            DatasetUnavailable("digits", "digits.csv", ["mirror: no such file"], Path("raw")),
            "not_run",
        ),
        ("prepare", MalformedData("digits.csv", "line 7", "NaN in column 3"), "failed"),
    ],
)
def test_data_that_cannot_be_used_is_an_outcome_with_its_reason(
    run, tmp_path, monkeypatch, step, error, status
):
    def refuse(name, *, data_dir, catalogue, progress):
        raise error

    if step == "prepare":
        run("download", "raw")
        monkeypatch.setattr(data, "prepare_arrays", refuse)
    else:
        monkeypatch.setattr(data, "fetch", refuse)
        assert run("download", "raw")[0] == 0
    code, prepared = run("prepare", "prepared")
    assert (code, prepared["status"]) == (0, status)
    assert prepared["failure"]["stage"] == {"fetch": "download"}.get(step, step)
    assert prepared["failure"]["message"] == str(error)
    assert prepared["card"] is None
    assert (tmp_path / "prepared" / "digits").is_dir(), "an output of the rule in both cases"


@pytest.mark.parametrize("error", [InsufficientSpace("disk full"), OSError(errno.EIO, "input/output error")])
@pytest.mark.parametrize("step", ["fetch", "prepare"])
def test_a_fault_of_the_machine_fails_the_job_and_writes_nothing(run, monkeypatch, step, error):
    def fail(name, *, data_dir, catalogue, progress):
        raise error

    if step == "prepare":
        run("download", "raw")
        monkeypatch.setattr(data, "prepare_arrays", fail)
        assert run("prepare", "prepared") == (1, None)
    else:
        monkeypatch.setattr(data, "fetch", fail)
        assert run("download", "raw") == (1, None)
