import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from mlflow import MlflowClient, pyfunc
from mlflow.entities import ViewType
from mlflow.exceptions import INVALID_PARAMETER_VALUE, MlflowException
from record_files import DATASETS, ENVIRONMENT
from sklearn.datasets import load_digits
from store_runs import dump, runs_of

from eigenbench.reporting.__main__ import main as render
from eigenbench.tracking.__main__ import main
from eigenbench.tracking.addresses import TrackingError
from eigenbench.tracking.importer import compare_records
from eigenbench.tracking.suite_store import _cut

pytestmark = pytest.mark.workflow

KINDS = ("run", "summary", "overview")


def test_a_record_becomes_a_run_with_everything_in_it(results, store_uri, fitted):
    path = results.record()
    summary = results.bring([path], store_uri)
    assert (summary.imported, summary.unchanged, summary.replaced, summary.failed) == (1, 0, 0, {})
    [run] = runs_of(store_uri)
    assert summary.run_ids == {"tiny/0000000000000000": run.info.run_id}
    assert run.info.run_name == "seed 0 · GEM · Main on Digits · logistic regression"
    assert run.info.status == "FINISHED"
    assert (run.info.start_time, run.info.end_time) == (1767323045000, 1767323105000)
    assert run.data.metrics["test_error"] == 0.03
    assert run.data.metrics["precision_1"] == 0.97
    assert run.data.metrics["dimension"] == 540
    assert run.data.params["gem__gamma"] == "0.1"
    assert run.data.params["classifier__options.C"] == "1"
    assert run.data.params["gem__note"] == "x" * 5999 + "…"
    assert run.data.tags["mlflow.source.git.commit"] == ENVIRONMENT.git_commit
    assert run.data.tags["status"] == "ok"
    client = MlflowClient(store_uri)
    curve = client.get_metric_history(run.info.run_id, "curves/training loss by iteration")
    assert [(point.step, point.value) for point in curve] == [(0, 2.0), (1, 1.0), (2, 0.5)]
    [used] = run.inputs.dataset_inputs
    assert (used.dataset.name, used.dataset.digest) == ("digits", DATASETS["digits"].sha256[:36])
    assert json.loads(used.dataset.profile)["num_rows"] == DATASETS["digits"].n_train
    assert [(tag.key, tag.value) for tag in used.tags] == [("mlflow.data.context", "training")]

    artifacts = {item.path for item in client.list_artifacts(run.info.run_id)}
    assert {"record.json", "confusion.csv"} <= artifacts
    assert client.download_artifacts(run.info.run_id, "record.json")
    X = load_digits().data.astype(np.float32)
    model = pyfunc.load_model(f"runs:/{run.info.run_id}/model")
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    assert model.metadata.signature.inputs.inputs[0].shape == (-1, 64)
    assert model.metadata.metadata["labels"] == [str(i) for i in range(10)]


@pytest.mark.parametrize("status", ["failed", "not_run"])
def test_a_run_without_result_says_why(results, store_uri, status):
    results.bring([results.failed_record(status=status)], store_uri)
    [run] = runs_of(store_uri)
    assert run.info.status == "FAILED"
    assert run.data.tags["status"] == status
    assert run.data.tags["failure_stage"] == "train"
    assert "input has NaN" in run.data.tags["mlflow.note.content"]
    assert run.info.start_time <= run.info.end_time


def test_more_values_than_one_call_takes(results, store_uri):
    params = {f"p{i}": i for i in range(230)}
    curves = {"loss_by_batch": [[step, 1.0 / (step + 1)] for step in range(2500)]}
    results.bring([results.record(params=params, curves=curves, model=None)], store_uri)
    [run] = runs_of(store_uri)
    assert {name: run.data.params[name] for name in params} == {name: str(i) for name, i in params.items()}
    assert len(MlflowClient(store_uri).get_metric_history(run.info.run_id, "curves/loss by batch")) == 2500


def test_a_damaged_record_is_reported_and_the_rest_goes_on(results, store_uri):
    cut = results.record(1)
    cut.write_bytes(cut.read_bytes()[:200])
    absent = results.folder / "tiny" / "absent.json"
    summary = results.bring([cut, absent, results.record(2)], store_uri)
    assert summary.imported == 1
    assert set(summary.failed) == {str(cut), str(absent)}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda model: model.write_bytes(b"something else"), "not as its record says; set aside"),
        (Path.unlink, "cannot be read (No such file or directory)"),
    ],
    ids=["altered", "gone"],
)
def test_a_damaged_model_is_named_and_set_aside(results, store_uri, damage, said):
    """So the workflow makes it again; then the import has nothing to complain about."""
    path = results.record()
    model = path.with_name("model.skops")
    good = model.read_bytes()
    damage(model)
    reason = results.bring([path], store_uri).failed[str(path)]
    assert f"{model}: {said}" in reason
    assert "run the same snakemake command again" in reason
    assert not model.exists()
    assert runs_of(store_uri) == []
    model.write_bytes(good)
    assert results.bring([path], store_uri).imported == 1


def test_a_changed_record_replaces_its_run_and_model_which_are_counted_and_can_be_removed(
    results, store_uri, capsys
):
    """The command that the documentation names removes runs, models and files."""
    arguments = ["--results-dir", str(results.folder), "--tracking-uri", store_uri]
    for value in (0.5, 0.25):
        assert main([*arguments, str(results.record(metrics={"test_error": value}))]) == 0
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert ": 0 imported, 1 replaced" in last
    assert "`mlflow gc` removes them" in last
    [run] = runs_of(store_uri)
    assert run.data.metrics["test_error"] == 0.25
    client = MlflowClient(store_uri)
    models = client.search_logged_models([run.info.experiment_id])
    assert [model.source_run_id for model in models] == [run.info.run_id]
    folder = results.folder.parent / "mlartifacts" / "tiny"
    assert len(list(folder.glob("*/artifacts/record.json"))) == 2
    collect = [sys.executable, "-m", "mlflow", "gc", "--backend-store-uri", store_uri]
    collect += ["--tracking-uri", store_uri]
    subprocess.run(collect, check=True, capture_output=True)
    assert [one.info.run_id for one in runs_of(store_uri)] == [run.info.run_id]
    assert client.search_runs([run.info.experiment_id], run_view_type=ViewType.DELETED_ONLY) == []
    assert len(list(folder.glob("*/artifacts/record.json"))) == 1
    assert len(list(folder.glob("models/*/artifacts/data/model.skops"))) == 1
    assert pyfunc.load_model(f"runs:/{run.info.run_id}/model")


def test_what_is_not_as_an_import_leaves_it_is_mended(results, store_uri):
    paths = [results.record(0), results.record(1), results.failed_record(2)]
    client = MlflowClient(store_uri)
    results.bring(paths, store_uri)
    experiment_id = client.get_experiment_by_name("tiny").experiment_id

    def first(kind):
        return client.search_runs([experiment_id], f"tags.kind = '{kind}'")[0]

    def begun_again(run, ended):
        copy = client.create_run(experiment_id, run.info.start_time, tags=run.data.tags).info.run_id
        if ended:
            client.set_terminated(copy, "FINISHED", run.info.end_time)

    changes = [
        *(lambda kind=kind: client.delete_run(first(kind).info.run_id) for kind in KINDS),
        *(lambda kind=kind: begun_again(first(kind), ended=True) for kind in KINDS),
        *(lambda kind=kind: begun_again(first(kind), ended=False) for kind in KINDS),
        lambda: client.set_tag(first("run").info.run_id, "mlflow.parentRunId", "another"),
        lambda: client.set_tag(first("summary").info.run_id, "summary_of", "an earlier form"),
        lambda: client.delete_logged_model(client.search_logged_models([experiment_id])[0].model_id),
        lambda: client.delete_experiment(experiment_id),
    ]
    for number, change in enumerate(changes):
        change()
        summary = results.bring(paths, store_uri)
        found = client.search_runs([experiment_id])
        assert sorted(run.data.tags["kind"] for run in found) == ["overview", *3 * ["run"], "summary"], number
        assert {run.info.status for run in found} <= {"FINISHED", "FAILED"}
        parents = {run.data.tags.get("mlflow.parentRunId") for run in found}
        assert parents == {None, *summary.summary_ids.values()}
        assert len(client.search_logged_models([experiment_id])) == 1, number
        before = dump(store_uri)
        results.bring(paths, store_uri)
        assert dump(store_uri) == before


def test_a_project_that_is_moved_takes_its_artifacts_with_it(results, store_uri, tmp_path):
    """Its old runs keep their files where they are, under another name of the suite."""
    path = results.record(confusion=None)
    results.bring([path], store_uri)
    moved = tmp_path / "moved"
    moved.mkdir()
    (tmp_path / "mlflow.db").rename(moved / "mlflow.db")
    uri = f"sqlite:///{moved / 'mlflow.db'}"
    assert compare_records([path], results_dir=results.folder, tracking_uri=uri).imported == 1
    assert results.bring([path], uri).imported == 1
    [run] = runs_of(uri)
    assert run.info.artifact_uri.startswith((moved / "mlartifacts").as_uri())
    assert list(moved.glob("mlartifacts/tiny/*/artifacts/record.json"))
    [old] = [item for item in MlflowClient(uri).search_experiments() if item.name.startswith("tiny until")]
    assert str(tmp_path / "mlartifacts") in old.tags["mlflow.note.content"]
    assert results.bring([path], uri).unchanged == 1


def test_a_suite_with_a_folder_of_its_own_keeps_it(results, store_uri, tmp_path, monkeypatch):
    path = results.record(model=None)
    with monkeypatch.context() as set_here:
        set_here.setenv("EIGENBENCH_ARTIFACTS", str(tmp_path / "shared"))
        results.bring([path], store_uri)
    assert results.bring([path], store_uri).unchanged == 1


def test_an_object_store_without_its_package_is_one_clear_error(results, store_uri, monkeypatch):
    monkeypatch.setenv("EIGENBENCH_ARTIFACTS", "s3://bucket/x")
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(TrackingError, match="pip install 'boto3'"):
        results.bring([results.record(model=None)], store_uri)


def test_a_bad_catalogue_beside_the_suite_is_one_clear_error(tmp_path, capsys):
    experiment = "{dataset: digits, protocol: kernel_error, settings: {degree: 3}, methods: {identity: {}}}"
    (tmp_path / "tiny.yaml").write_text(f"title: t\nexperiments: {{main: {experiment}}}\n")
    (tmp_path / "datasets.yaml").write_text("digits: 1\n")
    for command in (main, render):
        assert command(["--suite", str(tmp_path / "tiny.yaml")]) == 1
        assert "datasets.yaml" in capsys.readouterr().err


def test_a_long_description_ends_after_a_whole_line():
    shown = _cut("| a row |\n" * 1000)
    assert len(shown) <= 8000
    assert re.fullmatch(r"(\| a row \|\n)+\nand \d+ more lines", shown)
    assert _cut("x" * 8000) == "x" * 8000


def test_names_that_mlflow_refuses_are_changed_and_stay_distinct(results, store_uri):
    metrics = {"../rate": 0.11, "F1//macro": 0.12, "precision@1": 0.13, "precision#1": 0.14, "x" * 300: 0.15}
    assert results.bring([results.record(metrics=metrics)], store_uri).failed == {}
    [run] = runs_of(store_uri)
    found = {name: value for name, value in run.data.metrics.items() if value in metrics.values()}
    assert sorted(found.values()) == sorted(metrics.values())
    assert {"__/rate", "F1/macro", "x" * 250} < found.keys()


def refuse(monkeypatch, key):
    """Let MLflow refuse metrics and parameters of a name."""
    log_batch = MlflowClient.log_batch

    def refusing(self, run_id, metrics=(), params=(), tags=()):
        if any(one.key == key for one in (*metrics, *params)):
            raise MlflowException("no such thing", INVALID_PARAMETER_VALUE)
        return log_batch(self, run_id, metrics=metrics, params=params, tags=tags)

    monkeypatch.setattr(MlflowClient, "log_batch", refusing)


def test_a_record_that_mlflow_refuses_fails_alone(results, store_uri, monkeypatch):
    refuse(monkeypatch, "refused")
    bad = results.record(1, params={"refused": 1})
    summary = results.bring([results.record(0), bad], store_uri)
    assert (summary.imported, list(summary.failed)) == (1, [str(bad)])
    assert "no such thing" in summary.failed[str(bad)]
    assert len(runs_of(store_uri)) == 1
    monkeypatch.undo()
    assert results.bring([results.record(0), bad], store_uri).imported == 1


def test_a_summary_that_mlflow_refuses_ends_the_import_and_leaves_the_records(
    results, store_uri, monkeypatch
):
    refuse(monkeypatch, "mean")
    told = r"cannot use the MLflow store .*: no such thing\. The records are safe"
    with pytest.raises(TrackingError, match=told):
        results.bring([results.record()], store_uri)
    assert len(MlflowClient(store_uri).search_runs(["1"])) == len(runs_of(store_uri)) == 1
    monkeypatch.undo()
    summary = results.bring([results.record()], store_uri)
    assert (summary.unchanged, len(summary.summary_ids)) == (1, 1)


@pytest.mark.parametrize(
    "text", ["<img src=x onerror=alert(1)>", "[a](javascript:b)", "| a\n# b", "\x1b]8;;x\u202e"]
)
def test_descriptions_show_texts_from_outside_as_they_are(results, store_uri, text):
    failure = {"stage": "train", "type": "ValueError", "message": text, "log": "x.log"}
    results.bring([results.record(status="failed", metrics={}, failure=failure, model=None)], store_uri)
    for run in MlflowClient(store_uri).search_runs(["1"]):
        note = run.data.tags["mlflow.note.content"]
        assert "<img" not in note
        assert "[a](" not in note
        assert "\n# b" not in note
        assert not any(unicodedata.category(one)[0] == "C" and one != "\n" for one in note)


def command(results, *arguments):
    return [sys.executable, "-m", "eigenbench.tracking", "--results-dir", str(results.folder), *arguments]


def test_two_importers_started_at_once_on_no_store_yet(results, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / ".mlflow.db.new").write_bytes(b"left by a process killed while it made the store")
    paths = [str(results.record(seed)) for seed in range(4)]
    receipts = [tmp_path / "first.json", tmp_path / "second.json"]
    commands = [command(results, "--receipt", str(receipt), *paths) for receipt in receipts]
    started = [subprocess.Popen(one, cwd=tmp_path, stderr=subprocess.PIPE) for one in commands]
    texts = [process.communicate(timeout=120)[1].decode() for process in started]
    assert [process.returncode for process in started] == [0, 0], texts
    written = [json.loads(receipt.read_text()) for receipt in receipts]
    assert sorted((one["imported"], one["unchanged"]) for one in written) == [(0, 4), (4, 0)]
    assert written[0]["run_ids"] == written[1]["run_ids"]
    assert len(runs_of(f"sqlite:///{tmp_path / 'mlflow.db'}")) == 4
    for text in texts:
        assert "View run" not in text
        assert "INFO" not in text


def test_a_file_that_is_no_database(results, tmp_path):
    (tmp_path / "mlflow.db").write_bytes(b"not a database, not a database, not a database" * 100)
    with pytest.raises(TrackingError, match="not a database"):
        results.bring([results.record()], f"sqlite:///{tmp_path / 'mlflow.db'}")


@pytest.mark.parametrize("room", [0, 60_000])
def test_a_full_disk_during_an_import_loses_nothing(results, store_uri, tmp_path, largest_file, room):
    """Without room for the store, or for the files of the runs only: a clear error, then it goes on."""
    paths = [results.record(seed) for seed in range(40)]
    largest_file(room)
    with pytest.raises(TrackingError, match="records are safe"):
        results.bring(paths, store_uri)
    largest_file(None)
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    summary = results.bring(paths, store_uri)
    assert summary.failed == {}
    assert summary.imported + summary.unchanged == 40
    runs = runs_of(store_uri)
    assert [run.data.tags["run_key"] for run in runs] == [path.parent.name for path in paths]
    assert {run.info.status for run in runs} == {"FINISHED"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_is_a_clear_error(results, store_uri, tmp_path):
    (tmp_path / "mlflow.db").chmod(0o444)
    with pytest.raises(TrackingError, match="readonly"):
        results.bring([results.record()], store_uri)
