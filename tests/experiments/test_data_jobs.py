from pathlib import Path

import pytest

from eigenbench import datasets
from eigenbench.datasets.errors import DatasetUnavailable, MalformedData
from eigenbench.experiments.data_jobs import download, prepare


def test_real_data_is_fetched_and_prepared(tmp_path):
    downloaded = download("digits", tmp_path, "first")
    assert downloaded["status"] == "ok"
    prepared = prepare("digits", tmp_path, downloaded)
    assert prepared["status"] == "ok"
    assert prepared["card"]["n_features"] == 64
    assert len(prepared["sha256"]) == 64


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
def test_data_that_cannot_be_used_is_an_outcome_with_its_reason(tmp_path, monkeypatch, step, error, status):
    def refuse(name, *, data_dir):
        raise error

    if step == "prepare":
        downloaded = download("digits", tmp_path, "first")
    monkeypatch.setattr(datasets, step, refuse)
    if step == "fetch":
        downloaded = download("digits", tmp_path, "first")
    prepared = prepare("digits", tmp_path, downloaded)
    assert prepared["status"] == status
    assert prepared["failure"]["stage"] == {"fetch": "download"}.get(step, step)
    assert prepared["failure"]["message"] == str(error)
    assert prepared["card"] is None
