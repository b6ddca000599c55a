"""A receipt holds as long as its store does."""

import json
import shutil
import subprocess
import sys

import pytest
from mlflow import MlflowClient
from store_runs import runs_of

from eigenbench.tracking.__main__ import main
from eigenbench.tracking.store import receipt_is_current, receipt_name

pytestmark = pytest.mark.workflow


@pytest.fixture
def bring(results, store_uri, monkeypatch):
    """Return a function that imports records and writes a receipt."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store_uri)

    def run(path, *records):
        assert main(["--results-dir", str(results.folder), "--receipt", str(path), *map(str, records)]) == 0
        return path

    return run


@pytest.fixture
def receipt(bring, results, tmp_path):
    path = bring(tmp_path / "receipt.json", *(results.record(seed, model=None) for seed in range(2)))
    assert receipt_is_current(path)
    return path


def test_it_names_the_run_of_each_record_and_outlives_other_imports(
    receipt, bring, results, store_uri, tmp_path
):
    content = json.loads(receipt.read_text())
    client = MlflowClient(store_uri)
    for seed in range(2):
        run = client.get_run(content["run_ids"][f"tiny/{seed:016x}"])
        assert run.data.tags["run_key"] == f"{seed:016x}"
    other = bring(tmp_path / "other.json", results.record(2, suite="other", model=None))
    assert receipt_is_current(other)
    assert receipt_is_current(receipt)


def test_a_store_that_was_deleted_ends_it_and_an_import_renews_it(receipt, results, tmp_path):
    """MLflow keeps files open in a process, so the import is one of its own."""
    (tmp_path / "mlflow.db").unlink()
    assert not receipt_is_current(receipt)
    assert not (tmp_path / "mlflow.db").exists(), "looking makes no file"
    paths = map(str, results.folder.glob("*/*/*/seed-*/*/record.json"))
    command = [sys.executable, "-m", "eigenbench.tracking", "--results-dir", str(results.folder)]
    subprocess.run([*command, "--receipt", str(receipt), *paths], check=True, capture_output=True)
    assert receipt_is_current(receipt)


CHANGES = {
    "another store in its place": lambda uri, path, empty: shutil.copy(empty, path),
    "run deleted": lambda uri, path, empty: MlflowClient(uri).delete_run(runs_of(uri)[0].info.run_id),
    "experiment deleted": lambda uri, path, empty: MlflowClient(uri).delete_experiment("1"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_the_store_ends_it_and_an_import_renews_it(
    receipt, bring, results, store_uri, empty_store, tmp_path, change
):
    change(store_uri, tmp_path / "mlflow.db", empty_store)
    assert not receipt_is_current(receipt)
    other = bring(tmp_path / "other.json", results.record(2, suite="other", model=None))
    assert receipt_is_current(other)
    assert not receipt_is_current(receipt), "also where another import has made it whole"
    bring(receipt, *results.folder.glob("tiny/*/*/seed-*/*/record.json"))
    assert receipt_is_current(receipt)


def test_another_address_ends_it(receipt, monkeypatch):
    for other in ("sqlite:///other.db", "http://127.0.0.1:5000", "file:///tmp", "nonsense", "sqlite://"):
        assert not receipt_is_current(receipt, other)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", other)
        assert not receipt_is_current(receipt)


def test_a_server_is_known_by_its_address_without_its_password(tmp_path):
    path = tmp_path / "receipt.json"
    content = {"tracking_uri": "postgresql://lab:***@host/mlflow", "failed": {}, "run_ids": {"a": "1"}}
    path.write_text(json.dumps(content))
    assert receipt_is_current(path, "postgresql://lab:secret@host/mlflow")
    assert receipt_is_current(path, "postgresql://lab:another@host/mlflow")
    assert not receipt_is_current(path, "postgresql://lab:secret@elsewhere/mlflow")


DAMAGES = [
    lambda text: "",
    lambda text: "[]",
    lambda text: "[" * 100_000,
    lambda text: text.replace('"run_ids": {', '"run_ids": {}, "x": {'),
    lambda text: text.replace('"failed": {}', '"failed": {"a.json": "unreadable"}'),
    lambda text: text.replace('"tracking_uri": "sqlite', '"tracking_uri": 3, "x": "sqlite'),
]


def test_two_folders_that_share_results_have_a_receipt_each(tmp_path, monkeypatch):
    """The default store lies in the working folder; with one receipt each switch imported again."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    names = set()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        names.add(receipt_name())
        assert receipt_name(f"sqlite:///{tmp_path / folder / 'mlflow.db'}") in names
    server = {receipt_name(f"http://lab:{word}@host:5000") for word in ("secret", "another")}
    assert len(names) == 2
    assert len(names | server) == 3


def test_a_damaged_receipt_is_none(receipt):
    text = receipt.read_text()
    for damage in DAMAGES:
        assert damage(text) != text
        receipt.write_text(damage(text))
        assert not receipt_is_current(receipt), damage(text)
    receipt.write_text(text)
    assert receipt_is_current(receipt)


def test_what_is_missing_or_no_database_is_none(receipt, tmp_path):
    assert not receipt_is_current(tmp_path / "absent.json")
    assert not receipt_is_current(tmp_path)
    for content in (b"", b"not a database" * 1000):
        (tmp_path / "mlflow.db").write_bytes(content)
        assert not receipt_is_current(receipt)
