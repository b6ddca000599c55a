"""What lies in the output folders and is no valid result is removed by name, so that it is made again."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from small_jobs import Jobs

from eigenbench.bench.jobs.guard import RunLock
from eigenbench.bench.jobs.remnants import remove_invalid
from eigenbench.bench.jobs.workflow import Workflow
from eigenbench.bench.records.record import Record, write_record
from eigenbench.datasets import prepare

SUITE = """
title: A test
experiments:
  main:
    dataset: digits
    methods: {identity: {}}
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
    (root / "data" / "prepared" / "digits.json").write_text(json.dumps(state | {"card": card}))
    (root / "data" / "raw" / "digits.json").write_text(json.dumps(state | {"files": []}))
    (root / "suites").mkdir()
    (root / "suites" / "s.yaml").write_text(SUITE)
    (method,) = workflow_in(root).suites["s"].methods
    jobs = Jobs(root / "data", root)
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
    """A copy with the same times, so that the stamps of the data hold as far as they can."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def clean(root, receipts_are_current=True):
    """Remove what is invalid; return the lines, and which files are gone or new."""
    before = files(root)
    lines = remove_invalid(workflow_in(root), RunLock(root / "lock"), lambda path: receipts_are_current)
    after = files(root)
    return lines, before - after, after - before


def files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


RUN = "results/s/main/identity/seed-0/CalibratedLeastSquares"


def test_valid_results_stay_and_nothing_is_said(root):
    assert clean(root) == ([], set(), set())


def test_what_killed_jobs_had_begun_to_write_goes_in_silence(root):
    begun = [
        f"{RUN}/.model.skops.otp4rjlh.tmp",
        "results/s/.tracked.json.a1b2c3d4.tmp",
        "reports/s/.a1b2c3d4.tmp/new/index.html",
    ]
    for name in begun:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"half")
    assert clean(root) == ([], set(begun), set())
    assert not (root / "reports/s/.a1b2c3d4.tmp").exists()


def cut(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def edit(path):
    content = path.read_text()
    error = str(json.loads(content)["metrics"]["test_error"])
    path.write_text(content.replace(error, "0.0001"))


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [cut, edit, empty])
def test_a_record_that_was_damaged_is_set_aside_by_name(root, damage):
    damage(root / RUN / "record.json")
    lines, gone, new = clean(root)
    assert gone == {f"{RUN}/record.json"}
    assert new == {f"{RUN}/record.json.refused"}
    (line,) = lines
    assert line.startswith(f"{root}/{RUN}/record.json: damaged or changed")
    assert clean(root)[0] == []


def test_a_record_of_a_measured_run_is_found_too(root):
    folder = root / "results" / "s" / "other" / "m" / "seed-3"
    shutil.copytree(root / RUN, folder)
    cut(folder / "record.json")
    assert clean(root)[1] == {"results/s/other/m/seed-3/record.json"}


@pytest.mark.parametrize("damage", [cut, empty, lambda path: path.write_bytes(path.read_bytes() + b"\0")])
def test_a_model_of_another_size_is_removed(root, damage):
    damage(root / RUN / "model.skops")
    lines, gone, new = clean(root)
    assert (gone, new) == ({f"{RUN}/model.skops"}, set())
    assert lines == [f"{root}/{RUN}/model.skops: not as large as its record says; removed, and made again"]


def test_the_empty_model_of_a_failed_run_stays(root):
    record = json.loads((root / RUN / "record.json").read_bytes())
    del record["seal"]
    failure = {"stage": "train", "type": "ValueError", "message": "no"}
    failed = record | {"status": "failed", "failure": failure, "model": None, "metrics": {}}
    write_record(root / RUN / "record.json", Record.model_validate(failed))
    empty(root / RUN / "model.skops")
    empty(root / RUN / "predictions.npz")
    assert clean(root) == ([], set(), set())


def test_a_receipt_of_another_store_is_removed(root):
    lines, gone, _ = clean(root, receipts_are_current=False)
    assert gone == {"results/s/tracked.json", "results/s/main/tracked.json"}
    assert "its MLflow store is gone or another one" in lines[0]


def permute(folder):
    path = folder / "prepared" / "digits" / "X_all.npy"
    X = np.load(path)
    np.save(path, np.random.default_rng(0).permutation(X))


def drop_array(folder):
    (folder / "prepared" / "digits" / "y_all.npy").unlink()


def edit_card(folder):
    path = folder / "prepared" / "digits" / "card.json"
    path.write_text(path.read_text().replace('"title": "', '"title": "My '))


def another_recipe(folder):
    path = folder / "prepared" / "digits" / "card.json"
    card = json.loads(path.read_bytes())
    path.write_text(json.dumps(card | {"recipe": "0" * 64}))


@pytest.mark.parametrize("damage", [permute, drop_array, edit_card, another_recipe])
def test_prepared_data_that_changed_are_prepared_again(root, damage):
    damage(root / "data")
    lines, gone, _ = clean(root)
    assert {"data/prepared/digits.json", "data/raw/digits.json"} <= gone
    assert not (root / "data" / "prepared" / "digits").exists()
    assert lines == ["digits: its prepared data or its source files changed; prepared again"]
    prepare("digits", data_dir=root / "data", progress=False)
    X, _ = load_digits(return_X_y=True)
    stored = np.load(root / "data" / "prepared" / "digits" / "X_all.npy")
    np.testing.assert_array_equal(stored.reshape(X.shape), X)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"3", b"\xff"])
def test_a_state_of_data_that_cannot_be_read_is_removed(root, content):
    (root / "data" / "prepared" / "digits.json").write_bytes(content)
    assert {"data/prepared/digits.json", "data/raw/digits.json"} <= clean(root)[1]


def test_data_that_no_source_gave_are_tried_again(root):
    state = {"dataset": "digits", "status": "not_run", "failure": {}, "card": None}
    (root / "data" / "prepared" / "digits.json").write_text(json.dumps(state))
    assert {"data/prepared/digits.json", "data/raw/digits.json"} <= clean(root)[1]


def test_an_edited_file_of_the_user_is_prepared_again(root, monkeypatch):
    asked = []

    def is_current(name, *, data_dir, catalogue):
        assert name in catalogue.datasets
        asked.append((name, data_dir))
        return False

    monkeypatch.setattr("eigenbench.bench.jobs.remnants.is_current", is_current)
    assert "its source files changed" in clean(root)[0][0]
    assert asked == [("digits", root / "data")]


@pytest.mark.parametrize("place", ["artifacts", "records/s/0123456789abcdef.json"])
def test_results_of_an_earlier_version_stop_with_one_sentence(root, place):
    path = root / "results" / place
    if path.suffix:
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    else:
        path.mkdir()
    before = files(root)
    with pytest.raises(RuntimeError) as error:
        clean(root)
    assert str(error.value).startswith(f"{root}/results: written by an earlier version of eigenbench")
    assert "move it away or delete it" in str(error.value)
    assert "\n" not in str(error.value)
    assert files(root) == before


def test_a_suite_may_be_called_records(root):
    shutil.copytree(root / "results" / "s", root / "results" / "records")
    assert clean(root) == ([], set(), set())


HOLDER = """
import sys
from pathlib import Path
from eigenbench.bench.jobs.guard import RunLock
RunLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_while_another_run_works_nothing_is_removed(root):
    cut(root / RUN / "record.json")
    empty(root / RUN / "model.skops")
    permute(root / "data")
    command = [sys.executable, "-c", HOLDER, str(root / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        assert clean(root, receipts_are_current=False) == ([], set(), set())
        holder.stdin.close()
        holder.wait()
    assert len(clean(root, receipts_are_current=False)[0]) == 4


def test_a_folder_without_anything_is_fine(root):
    for name in ("results", "data"):
        shutil.rmtree(root / name)
    assert clean(root) == ([], set(), set())
