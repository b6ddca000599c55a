"""An import without news does not load MLflow; whatever is not as it should be in the store is seen."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from mlflow import MlflowClient

from eigenbench.bench.suites.suite import Suite
from eigenbench.tracking import import_records, store

pytestmark = pytest.mark.workflow

SUITE = {
    "name": "tiny",
    "title": "A test",
    "experiments": {
        "main": {"dataset": "digits", "methods": {"gem": {}}, "classifiers": ["LogisticRegression"]}
    },
}


@pytest.fixture
def bring(results, store_uri):
    """Return a function that imports all records of the folder."""

    def run(suite=SUITE, **options):
        return import_records(
            sorted(results.folder.glob("*/*/*/seed-*/*/record.json")),
            results_dir=results.folder,
            tracking_uri=store_uri,
            suites=[Suite.model_validate(suite)],
            progress=False,
            **options,
        )

    return run


@pytest.fixture
def imported(bring, results):
    for seed in range(2):
        results.record(seed)
    results.failed_record(2)
    return bring()


@pytest.fixture
def opened(monkeypatch):
    """Return a list that grows whenever MLflow opens the store."""
    found = []
    open_store = store.open_store
    monkeypatch.setattr(store, "open_store", lambda uri: found.append(uri) or open_store(uri))
    return found


def test_without_news_the_summary_is_the_same_and_mlflow_is_not_needed(bring, imported, opened):
    again = bring()
    assert (again.imported, again.replaced, again.unchanged) == (0, 0, 3)
    for name in ("run_ids", "summary_ids", "experiment_ids", "failed"):
        assert getattr(again, name) == getattr(imported, name)
    assert len(again.run_ids) == 3
    assert opened == []


def test_neither_mlflow_nor_pandas_is_loaded(imported, results, store_uri, tmp_path):
    receipt = tmp_path / "receipt.json"
    told = ["--results-dir", str(results.folder), "--tracking-uri", store_uri, "--receipt", str(receipt)]
    told += [str(path) for path in results.folder.glob("*/*/*/seed-*/*/record.json")]
    code = (
        "import sys; from eigenbench.tracking.__main__ import main;"
        "assert main(sys.argv[1:]) == 0; sys.exit(bool({'mlflow', 'pandas', 'scipy'} & set(sys.modules)))"
    )
    statuses = [subprocess.run([sys.executable, "-c", code, *told]).returncode for _ in range(2)]
    assert statuses == [1, 0]


def execute(uri, statement):
    with closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as connection, connection:
        assert connection.execute(statement).rowcount > 0


def delete_run(kind):
    def delete(results, uri, summary):
        client = MlflowClient(uri)
        found = client.search_runs(list(summary.experiment_ids.values()), f"tags.kind = '{kind}'")
        client.delete_run(found[0].info.run_id)

    return delete


def copy_run(results, uri, summary):
    client = MlflowClient(uri)
    run = client.get_run(next(iter(summary.run_ids.values())))
    tags = {name: value for name, value in run.data.tags.items() if name != "mlflow.runName"}
    copy = client.create_run(run.info.experiment_id, run.info.start_time, tags=tags)
    client.set_terminated(copy.info.run_id, "FINISHED", run.info.end_time)


CHANGES = {
    "a new record": lambda results, uri, summary: results.record(7),
    "another content": lambda results, uri, summary: results.record(1, metrics={"test_error": 0.5}),
    "a run is deleted": delete_run("run"),
    "a summary is deleted": delete_run("summary"),
    "an overview is deleted": delete_run("overview"),
    "a run is there twice": copy_run,
    "the experiment is deleted": lambda results, uri, summary: MlflowClient(uri).delete_experiment("1"),
    "a run has not ended": lambda results, uri, summary: execute(
        uri, "UPDATE runs SET status = 'RUNNING' WHERE run_uuid IN (SELECT run_uuid FROM runs LIMIT 1)"
    ),
    "a run has no parent": lambda results, uri, summary: execute(
        uri, "DELETE FROM tags WHERE key = 'mlflow.parentRunId'"
    ),
    "summaries of an earlier form": lambda results, uri, summary: execute(
        uri, "UPDATE tags SET value = 'old' WHERE key = 'summary_of'"
    ),
    "a saved view is gone": lambda results, uri, summary: execute(
        uri, "DELETE FROM experiment_tags WHERE key LIKE 'mlflow.sharedViewState.%'"
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_not_as_it_should_be_is_seen_and_mended(bring, imported, results, store_uri, opened, change):
    change(results, store_uri, imported)
    bring()
    assert len(opened) == 1
    bring()
    assert len(opened) == 1, "mended"


@pytest.mark.parametrize(
    "suite",
    [
        SUITE | {"title": "Another title"},
        SUITE | {"experiments": {"main": SUITE["experiments"]["main"] | {"title": "Digits"}}},
    ],
    ids=["suite", "experiment"],
)
def test_a_suite_that_says_something_else_is_seen(bring, imported, opened, suite):
    bring(suite)
    bring(suite)
    assert len(opened) == 1


def test_models_that_are_asked_for_are_looked_for(bring, imported, opened, store_uri):
    bring(all_models=True)
    assert len(opened) == 1
    assert len(MlflowClient(store_uri).search_logged_models(["1"])) == 2


def test_a_store_of_another_form_is_left_to_mlflow(bring, imported, opened, store_uri):
    execute(store_uri, "UPDATE experiments SET last_update_time = 0")
    with closing(sqlite3.connect(store_uri.removeprefix("sqlite:///"))) as connection:
        connection.execute("ALTER TABLE experiment_tags RENAME TO tags_of_experiments")
    with pytest.raises(Exception, match="experiment_tags"):
        bring()
    assert len(opened) == 1
