"""A laboratory's store: PostgreSQL or a server, filled from several clusters at the same time."""

import json
import shutil
import subprocess
import sys
import threading
import time

import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from store_runs import runs_of

from eigenbench.bench.records.record import read_record, write_record
from eigenbench.tracking.__main__ import main
from eigenbench.tracking.addresses import TrackingError
from eigenbench.tracking.importer import compare_records
from eigenbench.tracking.store import receipt_is_current

pytestmark = pytest.mark.workflow


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("EIGENBENCH_ARTIFACTS", str(tmp_path / "artifacts"))


def finish(path, at):
    """Write a record again with another time of its end."""
    write_record(path, read_record(path).model_copy(update={"finished": at}))


@pytest.fixture
def clusters(results, tmp_path):
    """Three results folders: 8 records in each, of which 2 in all three with the same key."""
    common = [results.record(seed) for seed in (100, 101)]
    folders = []
    for number in range(3):
        folder = tmp_path / f"cluster{number}"
        shutil.copytree(results.folder, folder)
        for seed in range(6):
            made = results.record(10 * number + seed, suite="tiny" if seed % 2 else f"own{number}").parent
            target = folder / made.relative_to(results.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            made.rename(target)
        for path in common:
            mine = folder / path.relative_to(results.folder)
            finish(mine, f"2026-01-02T03:05:{10 + number:02}+00:00")
        folders.append(folder)
    return folders


def import_all(uri, folders):
    """Start one importer per folder at the same moment; return their receipts."""
    started = []
    for folder in folders:
        paths = sorted(map(str, folder.glob("*/*/*/seed-*/*/record.json")))
        command = [sys.executable, "-m", "eigenbench.tracking", "--tracking-uri", uri]
        command += ["--results-dir", str(folder), "--receipt", str(folder / "receipt.json"), *paths]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
    said = "\n".join(process.communicate(timeout=300)[1] for process in started)
    assert [process.returncode for process in started] == [0] * len(folders), said
    return [json.loads((folder / "receipt.json").read_text()) for folder in folders]


def check_whole(uri):
    """Every record of every cluster is there once, with its dataset and one model."""
    client = MlflowClient(uri)
    experiments = {item.name: item.experiment_id for item in client.search_experiments()}
    assert set(experiments) == {"Default", "tiny", "own0", "own1", "own2"}
    runs = [run for suite in experiments for run in runs_of(uri, suite=suite)]
    expected = {f"{seed:016x}" for number in range(3) for seed in range(10 * number, 10 * number + 6)}
    expected |= {f"{seed:016x}" for seed in (100, 101)}
    assert sorted(run.data.tags["run_key"] for run in runs) == sorted(expected)
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert {len(run.inputs.dataset_inputs) for run in runs} == {1}
    models = client.search_logged_models(list(experiments.values()))
    best = {f"{seed:016x}" for seed in (1, 0, 10, 20)}
    kept = [model.tags["run_key"] for model in models]
    assert best <= set(kept) <= expected, "the first seed of each suite, as all are equal, and former bests"
    assert len(kept) == len(set(kept))
    found = [run for suite in experiments for run in runs_of(uri, "summary", suite)]
    summaries = {run.data.tags["suite"]: (run.info.run_id, run.data.metrics["seeds"]) for run in found}
    counts = {"tiny": 3 * 3 + 2, **{f"own{number}": 3 for number in range(3)}}
    assert {suite: seeds for suite, (_, seeds) in summaries.items()} == counts
    for run in runs:
        assert run.data.tags["mlflow.parentRunId"] == summaries[run.data.tags["suite"]][0]
    for suite in summaries:
        assert len(runs_of(uri, "overview", suite)) == 1
    common = [run for run in runs if run.data.tags["run_key"] == f"{100:016x}"]
    assert [run.data.tags["imported_from"].rpartition("/")[2] for run in common] == ["cluster2"], "the latest"


@pytest.mark.slow
def test_several_clusters_at_once_into_a_new_postgresql_database(postgres, clusters):
    uri = postgres()
    import_all(uri, clusters)
    check_whole(uri)
    for receipt in import_all(uri, clusters):
        assert (receipt["imported"], receipt["replaced"], receipt["unchanged"]) == (0, 0, 8)
    check_whole(uri)


@pytest.mark.parametrize("write", ["log_batch", "set_tag"])
def test_the_import_that_is_refused_where_two_write_the_same_tries_again(
    postgres, results, monkeypatch, write
):
    """PostgreSQL takes the rows of one and refuses those of the other."""
    original, refused = getattr(MlflowClient, write), []

    def written_by_another_too(self, where, *arguments, **named):
        original(self, where, *arguments, **named)
        is_run = write == "log_batch" and self.get_run(where).data.tags["kind"] == "run"
        if not is_run and len(refused) < 2:
            refused.append(where)
            raise MlflowException("duplicate key value violates unique constraint")

    monkeypatch.setattr(MlflowClient, write, written_by_another_too)
    uri = postgres()
    results.bring([results.record()], uri)
    assert refused
    [run], [summary], [overview] = (runs_of(uri, kind) for kind in ("run", "summary", "overview"))
    assert {one.info.status for one in (run, summary, overview)} == {"FINISHED"}
    assert run.data.tags["mlflow.parentRunId"] == summary.info.run_id


def test_a_successful_import_leaves_no_password(postgres, results, tmp_path):
    uri = postgres().replace("lab@", "lab:pa55wort@")
    path = results.record()
    arguments = ["--results-dir", str(results.folder), "--tracking-uri", uri, str(path)]
    assert main([*arguments, "--receipt", str(tmp_path / "receipt.json")]) == 0
    assert receipt_is_current(tmp_path / "receipt.json", uri)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [path for path in files if b"pa55wort" in path.read_bytes()] == []


def test_looking_at_a_new_database_writes_nothing(postgres, results):
    import sqlalchemy

    uri = postgres()
    compared = compare_records([results.record()], results_dir=results.folder, tracking_uri=uri)
    assert (compared.imported, compared.unchanged) == (1, 0)
    assert sqlalchemy.inspect(sqlalchemy.create_engine(uri)).get_table_names() == []


def test_a_missing_driver_names_the_extra(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    with pytest.raises(TrackingError, match=r"eigenbench\[postgres\]"):
        results.bring([results.record()], "postgresql://127.0.0.1:9/x")


@pytest.mark.slow
def test_a_server_killed_in_the_middle_and_back_later(results, server, monkeypatch):
    """The import ends with one clear error; the next one completes it, without doubles."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    paths = [results.record(seed) for seed in range(8)]

    def kill_when_some_are_there():
        client = MlflowClient(server.uri)
        while True:
            experiment = client.get_experiment_by_name("tiny")
            if experiment and len(client.search_runs([experiment.experiment_id])) >= 3:
                return server.stop(kill=True)
            time.sleep(0.02)

    killer = threading.Thread(target=kill_when_some_are_there)
    killer.start()
    with pytest.raises(TrackingError, match="eigenbench sync"):
        results.bring(paths, server.uri)
    killer.join()
    server.start()
    summary = results.bring(paths, server.uri)
    assert summary.imported + summary.unchanged == 8
    assert 1 <= summary.unchanged < 8
    runs = runs_of(server.uri)
    assert [run.data.tags["run_key"] for run in runs] == [f"{seed:016x}" for seed in range(8)]
    assert {run.info.status for run in runs} == {"FINISHED"}


def test_an_unfinished_run_of_another_import_is_kept_for_an_hour(results, store_uri):
    path = results.record()
    results.bring([path], store_uri)
    client = MlflowClient(store_uri)
    experiment_id = client.get_experiment_by_name("tiny").experiment_id
    now = int(1000 * time.time())
    left = {}
    for name, source, at in [("busy", "far:/results", now), ("dead", "far:/results", now - 7_200_000)]:
        tags = {"experiment": "main", "run_key": f"{0:016x}", "imported_from": source, "imported_at": str(at)}
        left[client.create_run(experiment_id, tags=tags).info.run_id] = name
    results.bring([path], store_uri)
    open_runs = [run for run in client.search_runs([experiment_id]) if run.info.status == "RUNNING"]
    assert [left[run.info.run_id] for run in open_runs] == ["busy"]


def test_a_later_record_from_elsewhere_is_not_replaced_by_an_earlier_one(results, store_uri, tmp_path):
    earlier = results.record()
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(results.folder, elsewhere)
    later = elsewhere / earlier.relative_to(results.folder)
    finish(later, "2026-01-02T04:00:00+00:00")
    results.bring([later], store_uri, results_dir=elsewhere)
    summary = results.bring([earlier], store_uri)
    assert (summary.imported, summary.replaced, summary.unchanged) == (0, 0, 1)
    [run] = runs_of(store_uri)
    assert run.data.tags["imported_from"].endswith("elsewhere")
