"""A receipt holds as long as its store does."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys

import pytest
from mlflow import MlflowClient

from eigenbench.tracking.__main__ import main
from eigenbench.tracking.receipts import receipt_is_current

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def imported(tmp_path_factory, results_in, empty_store):
    """Give a folder with two records, the store that they were imported into, and the receipt of that."""
    folder = tmp_path_factory.mktemp("imported")
    shutil.copy(empty_store, folder / "mlflow.db")
    results = results_in(folder / "results")
    records = [str(results.record(seed, model=None)) for seed in range(2)]
    options = ["--results-dir", str(results.folder), "--tracking-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    assert main([*options, "--receipt", str(folder / "receipt.json"), *records]) == 0
    return folder


@pytest.fixture
def receipt(imported, results, store_uri, tmp_path, monkeypatch):
    """Put a copy of the store and of the receipt into a folder of the test."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store_uri)
    shutil.copy(imported / "mlflow.db", tmp_path)
    shutil.copytree(imported / "results", results.folder, dirs_exist_ok=True)
    path = tmp_path / "receipt.json"
    path.write_text((imported / "receipt.json").read_text().replace(str(imported), str(tmp_path)))
    assert receipt_is_current(path)
    return path


def again(results, receipt, *records):
    return main(["--results-dir", str(results.folder), "--receipt", str(receipt), *map(str, records)])


def test_it_names_the_run_of_each_record(receipt, store_uri):
    content = json.loads(receipt.read_text())
    client = MlflowClient(store_uri)
    for seed in range(2):
        run = client.get_run(content["run_ids"][f"tiny/{seed:016x}"])
        assert run.data.tags["run_key"] == f"{seed:016x}"


def test_a_store_that_was_deleted_ends_it_and_an_import_renews_it(receipt, results, store_uri, tmp_path):
    (tmp_path / "mlflow.db").unlink()
    assert not receipt_is_current(receipt)
    assert not (tmp_path / "mlflow.db").exists(), "looking makes no file"
    assert again(results, receipt, *results.folder.glob("*/*/*/seed-*/*/record.json")) == 0
    assert receipt_is_current(receipt)


def test_another_store_in_its_place_ends_it(receipt, results, empty_store, tmp_path):
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    assert not receipt_is_current(receipt)
    again(results, tmp_path / "other.json", results.record(0, model=None))
    assert receipt_is_current(tmp_path / "other.json")
    assert not receipt_is_current(receipt), "an experiment of that name and number, but another one"


def test_an_older_copy_without_its_runs_ends_it(receipt, results, tmp_path):
    shutil.copy(tmp_path / "mlflow.db", tmp_path / "copy.db")
    newer = tmp_path / "newer.json"
    again(results, newer, results.record(2, model=None))
    assert receipt_is_current(newer)
    shutil.copy(tmp_path / "copy.db", tmp_path / "mlflow.db")
    assert receipt_is_current(receipt)
    assert not receipt_is_current(newer)


def test_what_is_deleted_in_the_dashboard_ends_it(receipt, store_uri):
    client = MlflowClient(store_uri)
    run_id = next(iter(json.loads(receipt.read_text())["run_ids"].values()))
    client.delete_run(run_id)
    assert not receipt_is_current(receipt)
    client.restore_run(run_id)
    assert receipt_is_current(receipt)
    client.delete_experiment("1")
    assert not receipt_is_current(receipt)


def test_a_store_in_use_is_no_obstacle(receipt, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE experiments SET last_update_time = 0")
        assert receipt_is_current(receipt)


@pytest.mark.parametrize(
    "other", ["sqlite:///other.db", "http://127.0.0.1:5000", "file:///tmp", "nonsense", "sqlite://"]
)
def test_another_address_ends_it(receipt, other, monkeypatch):
    assert not receipt_is_current(receipt, other)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", other)
    assert not receipt_is_current(receipt)


def test_a_server_is_known_by_its_address_without_its_password(tmp_path):
    path = tmp_path / "receipt.json"
    content = {"tracking_uri": "postgresql://lab:***@host/mlflow", "failed": {}, "run_ids": {"a": "1"}}
    path.write_text(json.dumps(content | {"experiments": None}))
    assert receipt_is_current(path, "postgresql://lab:secret@host/mlflow")
    assert receipt_is_current(path, "postgresql://lab:another@host/mlflow")
    assert not receipt_is_current(path, "postgresql://lab:secret@elsewhere/mlflow")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:100],
        lambda text: "[]",
        lambda text: "3",
        lambda text: "[" * 100_000,
        lambda text: text.replace('"experiments"', '"x"'),
        lambda text: text.replace('"run_ids": {', '"run_ids": [], "x": {'),
        lambda text: text.replace('"failed": {}', '"failed": {"a.json": "unreadable"}'),
        lambda text: text.replace('"tracking_uri": "sqlite', '"tracking_uri": 3, "x": "sqlite'),
    ],
)
def test_a_damaged_receipt_is_none(receipt, damage):
    text = receipt.read_text()
    assert damage(text) != text
    receipt.write_text(damage(text))
    assert not receipt_is_current(receipt)


def test_what_is_missing_or_no_database_is_none(receipt, tmp_path):
    assert not receipt_is_current(tmp_path / "absent.json")
    assert not receipt_is_current(tmp_path)
    for content in (b"", b"not a database" * 1000):
        (tmp_path / "mlflow.db").write_bytes(content)
        assert not receipt_is_current(receipt)


def test_looking_at_one_does_not_import_mlflow(receipt):
    code = (
        "import sys; from pathlib import Path; from eigenbench.tracking.receipts import receipt_is_current;"
        "sys.exit('mlflow' in sys.modules or not receipt_is_current(Path(sys.argv[1])))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(receipt)], check=False).returncode == 0
