"""``eigenbench sync``: records made offline go into a store."""

import pytest
from mlflow import MlflowClient
from store_runs import dump, runs_of
from typer.testing import CliRunner

from eigenbench.cli import app
from eigenbench.tracking.addresses import TrackingError

pytestmark = pytest.mark.workflow


@pytest.fixture
def sync(results, store_uri):
    def run(*arguments):
        command = ["sync", "--results-dir", str(results.folder), *arguments]
        done = CliRunner().invoke(app, command)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout.strip().splitlines()[-1].partition(": ")[2]

    return run


def keys(uri, suite):
    return [run.data.tags["run_key"] for run in runs_of(uri, suite=suite)]


def test_pushes_all_suites_once(results, store_uri, sync):
    records = [results.record(seed, suite=suite) for suite in ("one", "two") for seed in range(2)]
    assert sync("--tracking-uri", store_uri) == (0, "4 imported, 0 replaced, 0 there already, 0 failed")
    for suite in ("one", "two"):
        assert keys(store_uri, suite) == sorted(path.parent.name for path in records[:2])
    before = dump(store_uri)
    assert sync("--tracking-uri", store_uri) == (0, "0 imported, 0 replaced, 4 there already, 0 failed")
    assert dump(store_uri) == before


def test_only_the_named_suites_and_what_has_no_records_is_said(results, store_uri, sync):
    with pytest.raises(TrackingError, match="run snakemake first"):
        sync()
    for suite in ("one", "two"):
        results.record(0, suite=suite)
    assert sync("two")[0] == 0
    assert MlflowClient(store_uri).get_experiment_by_name("one") is None
    assert keys(store_uri, "two") == [f"{0:016x}"]
    with pytest.raises(TrackingError, match=r"no records of three .*: one, two"):
        sync("three")


def test_a_dry_run_says_the_same_and_writes_nothing(results, store_uri, sync, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store_uri)
    results.record(0)
    results.record(1)
    sync()
    results.record(1, metrics={"test_error": 0.25})
    results.record(2)
    results.record(3).write_text("{")
    before = dump(store_uri)
    assert sync("--dry-run") == (1, "1 would be imported, 1 would be replaced, 1 there already, 1 failed")
    assert dump(store_uri) == before
    assert sync() == (1, "1 imported, 1 replaced, 1 there already, 1 failed")


def test_a_dry_run_makes_no_store(results, sync, tmp_path):
    results.record(0)
    new = tmp_path / "new" / "mlflow.db"
    assert sync("--dry-run", "--tracking-uri", f"sqlite:///{new}")[0] == 0
    assert not new.parent.exists()
