"""Results that come in parts are merged into the reference, and ranked as if they had come at once."""

import shutil

import pandas as pd
import pytest
from merge_reference import main, merge

from eigenbench.bench.jobs.plan import load_plan
from eigenbench.datasets.project_files import project_folder
from eigenbench.reproduction.reference import default_reference_folder

pytestmark = pytest.mark.workflow

REFERENCE = default_reference_folder() / "comparison"
SUITE = project_folder() / "config" / "suites" / "comparison.yaml"


@pytest.fixture(scope="module")
def plan():
    return load_plan(SUITE)


@pytest.fixture
def places(tmp_path):
    """An empty folder of reports and a copy of the reference."""
    reports, folder = tmp_path / "reports", tmp_path / "reference"
    shutil.copytree(REFERENCE, folder)
    reports.mkdir()
    return reports, folder


@pytest.mark.slow
def test_a_part_taken_out_and_merged_again_gives_the_reference(plan, places):
    """The ranks over all experiments are computed again, from the committed results."""
    reports, folder = places
    shutil.move(folder / "results_vowel.csv", reports / "results.csv")
    board = pd.read_csv(folder / "leaderboard.csv", dtype=str, keep_default_na=False)
    is_vowel = board["experiment"] == "vowel"
    board[is_vowel].to_csv(reports / "leaderboard.csv", index=False)
    board[~is_vowel].to_csv(folder / "leaderboard.csv", index=False)

    for name in ("ranks.csv", "pairs.csv"):
        (folder / name).unlink()

    assert merge(plan, reports, folder) == ["vowel"]

    for path in REFERENCE.iterdir():
        if path.name in {"ranks.csv", "pairs.csv"}:  # the last digit depends on the processor
            pd.testing.assert_frame_equal(pd.read_csv(folder / path.name), pd.read_csv(path), rtol=1e-12)
        else:
            assert (folder / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.slow
def test_some_methods_of_a_dataset_replace_their_own_results_alone(plan, places):
    reports, folder = places
    name = "results_vowel.csv"
    old = pd.read_csv(folder / name, dtype=str, keep_default_na=False)
    is_new = (old["method"] == "gem") & (old["seed"] != "4")
    no_longer_asked = old["run_key"].where(~is_new, "of other settings")
    old.assign(run_key=no_longer_asked).to_csv(folder / name, index=False)
    old[is_new].assign(value="0.5").to_csv(reports / "results.csv", index=False)
    board = pd.read_csv(folder / "leaderboard.csv", dtype=str, keep_default_na=False)
    board.loc[board["method"] != "gem", "without_result"] = "5 of 5 seeds without a record"
    board.to_csv(reports / "leaderboard.csv", index=False)

    merge(plan, reports, folder)

    assert (folder / "leaderboard.csv").read_bytes() == (REFERENCE / "leaderboard.csv").read_bytes()

    merged = pd.read_csv(folder / name, dtype=str, keep_default_na=False)
    found = merged.set_index(["method", "classifier", "seed", "metric"]).sort_index()
    expected = old.assign(value=old["value"].where(~is_new, "0.5"))
    pd.testing.assert_frame_equal(found, expected.set_index(found.index.names).sort_index())


def test_runs_that_were_not_made_keep_their_results(plan, tmp_path):
    reports, folder = tmp_path / "reports", tmp_path / "reference"
    reports.mkdir()
    folder.mkdir()
    shutil.copy(REFERENCE / "results_vowel.csv", folder)
    old = pd.read_csv(folder / "results_vowel.csv", dtype=str, keep_default_na=False)
    old.assign(status="not_run", metric="", value="").to_csv(reports / "results.csv", index=False)
    board = pd.read_csv(REFERENCE / "leaderboard.csv", dtype=str, keep_default_na=False)
    board = board[board["experiment"].isin(["vowel", "wdbc"])]
    board.to_csv(folder / "leaderboard.csv", index=False)
    why = "folder a: no folder /home/me/a"
    board.assign(without_result=why).to_csv(reports / "leaderboard.csv", index=False)

    merge(plan, reports, folder)

    name = "results_vowel.csv"
    assert (folder / name).read_bytes() == (REFERENCE / name).read_bytes()
    board = pd.read_csv(folder / "leaderboard.csv", dtype=str, keep_default_na=False)
    reasons = board.groupby("experiment")["without_result"].unique().map(list).to_dict()
    assert reasons == {"vowel": [""], "wdbc": ["folder a: no folder in the mirror"]}


def test_the_suite_that_has_no_folder_of_its_own_is_refused(capsys):
    assert main([str(project_folder() / "config" / "suites" / "quick.yaml")]) == 1
    assert "quick is in reports/reference" in capsys.readouterr().err


def test_a_report_of_another_suite_is_refused(tmp_path, capsys):
    lines = (REFERENCE / "results_vowel.csv").read_text(encoding="utf-8").replace("comparison,", "other,")
    (tmp_path / "results.csv").write_text(lines, encoding="utf-8")
    assert main([str(SUITE), "--reports", str(tmp_path)]) == 1
    assert "no result of suite 'comparison'" in capsys.readouterr().err
