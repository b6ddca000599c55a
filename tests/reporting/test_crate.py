"""The RO-Crate of a suite, read back by the library that archives use."""

import shutil
from importlib.metadata import version

import pytest

from eigenbench.bench.jobs.plan import load_plan
from eigenbench.bench.jobs.shared_jobs import current_code
from eigenbench.bench.records.record import read_record, write_record
from eigenbench.reporting import ReportError
from eigenbench.reporting.crate import write_crate

rocrate = pytest.importorskip("rocrate.rocrate")


@pytest.fixture
def write(tmp_path, suite_path, results_dir):
    def write(suite_path=suite_path, **options):
        folders = {"results_dir": results_dir, "reports_dir": tmp_path / "reports"}
        licence = "https://spdx.org/licenses/CC-BY-4.0"
        return write_crate(suite_path, tmp_path / "crate", licence=licence, **{**folders, **options})

    return write


def test_it_holds_every_record_and_says_what_made_it(write, tmp_path, results_dir):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "results.csv").write_text("suite\n")
    records = {path.relative_to(results_dir): path for path in results_dir.rglob("record.json")}
    assert write() == len(records)
    crate = rocrate.ROCrate(tmp_path / "crate")
    run = crate.dereference("#run")
    results = {entity.id for entity in run["result"]}
    assert results == {f"results/{place}" for place in records} | {"report/results.csv"}
    for place, path in records.items():
        assert (tmp_path / "crate" / "results" / place).read_bytes() == path.read_bytes()
    assert run["instrument"] == crate.mainEntity
    assert crate.mainEntity["programmingLanguage"]["version"] == version("snakemake")
    assert ".." not in crate.description
    assert (tmp_path / "crate" / "Snakefile").is_file()
    info = {record.dataset_info for record in map(read_record, records.values()) if record.dataset_info}
    data = {
        (entity["name"], entity["sha256"]) for entity in run["object"] if entity.id.startswith("#dataset-")
    }
    assert data == {(one.name, one.sha256) for one in info}


@pytest.mark.parametrize("models", [False, True])
def test_models_are_put_in_where_asked_for(write, tmp_path, results_dir, models):
    path = min(results_dir.rglob("record.json")).with_name("model.skops")
    path.write_bytes(b"model")
    write(models=models)
    assert bool(list((tmp_path / "crate").rglob("model.skops"))) == models


def test_a_folder_in_use_is_left_alone(write, tmp_path):
    (tmp_path / "crate").mkdir()
    (tmp_path / "crate" / "mine.txt").write_text("mine")
    with pytest.raises(ReportError, match="not empty"):
        write()
    assert [path.name for path in (tmp_path / "crate").iterdir()] == ["mine.txt"]


def test_without_records_it_says_what_to_run(write, tmp_path):
    with pytest.raises(ReportError, match="run `snakemake quick` first"):
        write(results_dir=tmp_path / "nothing")


SUITE = """
title: Own parts on own data
experiments:
  main:
    dataset: flowers
    methods: {mine: {steps: ["crate_parts:Centred"]}}
    classifiers: [GaussianNB]
"""
CATALOGUE = """
datasets:
  flowers:
    title: Flowers
    format: {reader: table}
    parts: {all: [flowers.csv]}
    split: {kind: random, test_fraction: 0.5}
    expect: {rows: {all: 4}, features: 1, classes: 2}
    files: {flowers.csv: {sources: [{path: flowers.csv}]}}
"""
PARTS = """
from sklearn.base import BaseEstimator, TransformerMixin

import crate_helper


class Centred(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return crate_helper.centred(X)
"""


def test_a_crate_with_own_parts_and_data_holds_what_runs_it_again(write, tmp_path, make_record):
    suites = tmp_path / "suites"
    suites.mkdir()
    (suites / "own.yaml").write_text(SUITE)
    (suites / "datasets.yaml").write_text(CATALOGUE)
    (suites / "crate_parts.py").write_text(PARTS)
    (suites / "crate_helper.py").write_text("def centred(X):\n    return X - X.mean(axis=0)\n")
    (suites / "unused.py").write_text("")
    (run,) = load_plan(suites / "own.yaml").runs
    record = make_record("digits", "identity", "CalibratedLeastSquares", 0)
    changed = record.model_copy(update={**run.identity, "suite": "own", "run_key": run.key})
    write_record(tmp_path / "results" / run.record, changed)
    assert write(suite_path=suites / "own.yaml", results_dir=tmp_path / "results") == 1
    packed = tmp_path / "crate" / "suites"
    names = {"own.yaml", "datasets.yaml", "crate_parts.py", "crate_helper.py"}
    assert {path.name for path in packed.iterdir()} == names
    assert [again.key for again in load_plan(packed / "own.yaml").runs] == [run.key]
    description = rocrate.ROCrate(tmp_path / "crate").description
    assert "put flowers.csv, which stayed with the owner, into suites/" in description


def test_records_of_older_code_are_counted(write, results_dir, suite_path, caplog, tmp_path):
    results = tmp_path / "newer"
    shutil.copytree(results_dir, results)
    plan = load_plan(suite_path)
    codes = current_code(plan)
    records = {results / run.record: run.key for run in plan.runs if (results / run.record).exists()}
    old, *current = records
    for path in current:
        record = read_record(path)
        installed = {"code_hash": min(codes[records[path]])}
        environment = record.environment.model_copy(update=installed)
        write_record(path, record.model_copy(update={"environment": environment}))
    write(results_dir=results)
    assert f"quick: 1 of {len(records)} records were made by older code" in caplog.text
    caplog.clear()
    old.unlink()
    shutil.rmtree(tmp_path / "crate")
    write(results_dir=results)
    assert "older code" not in caplog.text
