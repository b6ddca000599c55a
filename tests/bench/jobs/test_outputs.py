"""Damaged outputs: noticed while jobs are planned, set aside by name when they begin, and made again."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from small_jobs import Jobs

from eigenbench.bench.jobs.workflow import Workflow
from eigenbench.bench.records.record import Failure, Record, read_record, write_record
from eigenbench.bench.records.sealed_json import file_sums, write_sealed
from eigenbench.datasets import prepare

SUITE = """
title: A test
experiments:
  main:
    dataset: digits
    methods: {identity: {}, random: {steps: [{RandomDirections: {n_components: 5}}]}}
    classifiers: [CalibratedLeastSquares]
    seeds: [0, 1]
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder in which all runs of a suite were made."""
    root = tmp_path_factory.mktemp("finished")
    prepare("digits", data_dir=root / "data", progress=False)
    state = {"dataset": "digits", "status": "ok", "failure": None}
    card = json.loads((root / "data" / "prepared" / "digits" / "card.json").read_bytes())
    write_sealed(root / "data" / "prepared" / "digits.json", state | {"card": card})
    (root / "suites").mkdir()
    (root / "suites" / "s.yaml").write_text(SUITE)
    jobs = Jobs(root / "data", root)
    for method in workflow_in(root).plans["s"].methods:
        for seed in method.seeds:
            jobs.run(method, seed)
    for folder in ("s", "s/main"):
        (root / "results" / folder / "tracked.json").write_text("{}")
    return root


def workflow_in(root):
    config = {f"{name}_dir": str(root / name) for name in ("data", "results", "reports")}
    return Workflow(config | {"suites": ["s"]}, root / "config.yaml", root / "suites")


@pytest.fixture
def root(finished, tmp_path):
    """A copy with the same times."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


RUN = "s/main/identity/seed-0/CalibratedLeastSquares"
OTHER = "s/main/identity/seed-1/CalibratedLeastSquares"
REPORTS = [f"{RUN}/record.json", f"{OTHER}/record.json"]


def planned(root, receipt_is_current=True):
    """Plan as Snakemake does; return the workflow, and the parameters that say what is replaced."""
    bench = workflow_in(root)
    receipts = ["s/tracked.json", "s/main/tracked.json"]
    found = {
        "runs": json.loads(bench.states.of_records(*(f"{root}/results/{name}" for name in REPORTS))),
        "data": bench.states.of_dataset("digits"),
        "receipts": [bench.states.of_receipt(name, lambda path: receipt_is_current) for name in receipts],
    }
    return bench, found


NOTHING = {"runs": {}, "data": "", "receipts": ["", ""]}


def contents(root):
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def begun(bench, root):
    """Begin a run; return its messages, the files that are gone, and the new ones."""
    before = contents(root)
    lines = bench.begin(print)
    after = contents(root)
    assert all(before[name] == after[name] for name in before.keys() & after.keys())
    return lines, before.keys() - after.keys(), after.keys() - before.keys()


def test_valid_results_stay_and_nothing_is_said(root):
    bench, found = planned(root)
    assert found == NOTHING
    assert begun(bench, root) == ([], set(), set())


def test_what_killed_jobs_had_begun_to_write_goes_in_silence_when_the_next_run_begins(root):
    half = [
        f"results/{RUN}/.model.skops.otp4rjlh.tmp",
        "results/s/.tracked.json.a1b2c3d4.tmp",
        "reports/s/.a1b2c3d4.tmp/new/index.html",
    ]
    for name in half:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"half")
    bench, found = planned(root)
    assert found == NOTHING
    assert begun(bench, root) == ([], set(half), set())
    assert not (root / "reports/s/.a1b2c3d4.tmp").exists()


def rewrite(path, **changes):
    write_record(path, read_record(path).model_copy(update=changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"run_key": "0" * 16},
        {
            "status": "not_run",
            "failure": Failure(stage="import", type="MissingExtraError", message="no package", log=None),
        },
    ],
    ids=["other settings", "a package that is there now"],
)
def test_a_record_out_of_date_is_planned_without_snakemakes_notes(root, changes):
    record = root / "results" / REPORTS[0]
    rewrite(record, **changes)
    bench, found = planned(root)
    assert list(found["runs"]) == [str(record)]
    assert begun(bench, root) == ([], set(), set()), "the job replaces it"
    jobs = Jobs(root / "data", root)
    for method in bench.plans["s"].methods:
        jobs.run(method, 0, replaces=found["runs"])
    assert planned(root)[1] == found, "nothing is left to do"


def test_the_answer_names_the_report_of_the_target(root):
    bench = workflow_in(root)
    command = bench.summary_command("python", root / "suites", ["s"])
    assert f"--reports-dir {root}/reports/s " in command
    assert f"--reports-dir {root}/reports " in bench.summary_command("python", root / "suites", [])


def cut(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def edit(path):
    content = path.read_text()
    error = str(json.loads(content)["metrics"]["test_error"])
    path.write_text(content.replace(error, "0.0001"))


@pytest.mark.parametrize(
    ("name", "damage"), [("record.json", edit), ("model.skops", cut), ("predictions.npz", cut)]
)
def test_a_damaged_run_is_planned_set_aside_and_what_takes_its_place_says_so(root, name, damage):
    name = f"{RUN}/{name}"
    damage(root / "results" / name)
    before = contents(root)
    bench, found = planned(root)
    ((report, token),) = found["runs"].items()
    assert found == NOTHING | {"runs": {report: token}}
    assert contents(root) == before, "nothing is changed while jobs are planned"
    lines, gone, new = begun(bench, root)
    aside = {f"results/{name}", str(Path(report).relative_to(root))}
    assert (gone, new) == (aside, {f"{file}.refused" for file in aside})
    assert lines[0].startswith(f"{root}/results/{name}: ")
    assert "set aside, and made again" in lines[0]
    assert lines[1].endswith("it was made from another folder: run the same command again.")
    assert planned(root)[1] == found, "a job on another machine is told the same"
    jobs = Jobs(root / "data", root)
    for method in bench.plans["s"].methods:
        jobs.run(method, 0, replaces=found["runs"])
    assert planned(root)[1] == found, "nothing is left to do"
    assert json.loads(Path(report).read_bytes())["replaces"] == token
    damage(root / "results" / name)
    assert planned(root)[1]["runs"][report] != token, "the same damage again is another one"


def test_the_empty_model_of_a_failed_run_is_no_damage(root):
    folder = root / "results" / RUN
    record = json.loads((folder / "record.json").read_bytes())
    del record["seal"]
    failure = {"stage": "train", "type": "ValueError", "message": "no"}
    for name in ("model.skops", "predictions.npz"):
        (folder / name).write_bytes(b"")
    files = file_sums(folder, "model.skops", "predictions.npz")
    failed = {"status": "failed", "failure": failure, "model": None, "metrics": {}, "files": files}
    write_record(folder / "record.json", Record.model_validate(record | failed))
    assert planned(root)[1] == NOTHING


def test_a_receipt_of_another_store_is_replaced(root):
    bench, found = planned(root, receipt_is_current=False)
    assert all(found["receipts"])
    lines, gone, _ = begun(bench, root)
    assert gone == {"results/s/tracked.json", "results/s/main/tracked.json"}
    assert "its MLflow store is gone or another one" in lines[0]


def permute(folder):
    path = folder / "prepared" / "digits" / "X_all.npy"
    np.save(path, np.random.default_rng(0).permutation(np.load(path)))


def another_recipe(folder):
    path = folder / "prepared" / "digits" / "card.json"
    card = json.loads(path.read_bytes())
    path.write_text(json.dumps(card | {"recipe": "0" * 64}))


@pytest.mark.parametrize("damage", [permute, another_recipe])
def test_prepared_data_that_changed_are_prepared_again(root, damage):
    damage(root / "data")
    before = contents(root)
    bench, found = planned(root)
    assert found == NOTHING | {"data": found["data"]}
    assert found["data"]
    assert contents(root) == before
    lines, gone, _ = begun(bench, root)
    assert gone == {"data/prepared/digits.json"}
    assert lines[0] == "digits: its prepared data or its source files changed; prepared again"
    assert planned(root)[1] == found
    prepare("digits", data_dir=root / "data", progress=False)
    X, _ = load_digits(return_X_y=True)
    stored = np.load(root / "data" / "prepared" / "digits" / "X_all.npy")
    np.testing.assert_array_equal(stored.reshape(X.shape), X)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"3", b"\xff", b'{"status": "not_run"}'])
def test_a_state_without_data_is_tried_again_each_time(root, content):
    state = root / "data" / "prepared" / "digits.json"
    state.write_bytes(content)
    first = planned(root)[1]["data"]
    os.utime(state, (1, 1))
    assert first
    assert planned(root)[1]["data"] not in ("", first)


def test_a_folder_without_anything_is_fine(root):
    for name in ("results", "data"):
        shutil.rmtree(root / name)
    bench, found = planned(root)
    assert found == NOTHING
    assert bench.begin(print) == []
