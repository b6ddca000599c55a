"""The worked example of docs/partitions.md: a suite on rows in files, and what an edit of one makes again."""

import json

import pandas as pd
import pytest
from followed_documents import COMMANDS, DOCS, script, shell
from tracked_runs import tracked

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

RUN = f"{COMMANDS}eigenbench run --config suites_dir=. suites=[in_files]"


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A folder in which every command of the document was given, and what they printed."""
    folder = tmp_path_factory.mktemp("partitions")
    return folder, shell(folder, script((DOCS / "partitions.md").read_text(encoding="utf-8")))


def records(folder):
    paths = folder.glob("results/in_files/digits/*/seed-0/*/record.json")
    return [json.loads(path.read_text()) for path in paths]


def test_a_suite_on_files_is_run_reported_and_tracked(followed):
    folder, printed = followed
    found = records(folder)
    assert [record["status"] for record in found] == ["ok"] * 6
    assert max(record["metrics"]["test_error"] for record in found) < 0.12
    assert {record["dataset_info"]["n_train"] for record in found} == {1541}
    assert "rembrandt" in printed
    assert {record["run_key"] for record in found} <= {key for key, _ in tracked(folder)}
    assert not (folder / "data/prepared/digits_in_files/X_train.npy").exists()


def test_an_edited_file_makes_its_runs_again(followed):
    folder, _ = followed
    before = {record["dataset_info"]["sha256"] for record in records(folder)}
    assert "train in_files/digits" not in shell(folder, f"{RUN} --dry-run")
    path = folder / "rows" / "train-2.parquet"
    table = pd.read_parquet(path)
    table.iloc[:5, :64] += 1
    table.to_parquet(path, index=False)
    printed = shell(folder, RUN)
    assert "its source files changed; prepared again" in printed
    after = {record["dataset_info"]["sha256"] for record in records(folder)}
    assert len(before) == len(after) == 1
    assert before != after


def test_a_file_of_another_kind_fails_the_runs_and_is_named(followed):
    folder, _ = followed
    path = folder / "rows" / "train-3.parquet"
    pd.read_parquet(path).rename(columns={"pixel_0_0": "other"}).to_parquet(path, index=False)
    shell(folder, RUN)
    found = records(folder)
    assert {record["status"] for record in found} == {"failed"}
    assert all("train-3.parquet has other columns" in record["failure"]["message"] for record in found)
