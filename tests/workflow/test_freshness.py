"""Results are never stale: what is missing, damaged or made by other code is made again, and nothing else."""

import json
import os
import re
import shutil
import time
from pathlib import Path

import pandas as pd
import pytest
from tracked_runs import tracked

import eigenbench
from eigenbench.datasets.project_files import project_folder

pytestmark = pytest.mark.workflow

SINGLE = {"train tiny/single: gem, random"}
FITS = SINGLE | {"train tiny/grid: identity, gem", "train tiny/grid: broken"}
MEASURED = {"measure tiny/measured: random"}


def fits(planned):
    return {message for message in planned if message.split()[0] in ("train", "measure")}


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("bench/jobs/job_context.py", FITS | MEASURED),
        ("bench/protocols/kernel_error.py", MEASURED),
        ("methods/embeddings/discriminants/gem.py", FITS - {"train tiny/grid: broken"}),
        ("bench/registry.py", set()),
    ],
)
def test_edited_code_plans_the_jobs_that_run_it_and_no_other(finished, source, module, expected):
    path = source / module
    path.write_text(path.read_text() + "\n_EDITED = True\n")
    assert fits(finished[0].planned(PYTHONPATH=str(source.parent))) == expected


@pytest.fixture
def source(tmp_path):
    """A copy of the package to edit, with the rest of the project beside it."""
    package = Path(eigenbench.__path__[0])
    copy = tmp_path / "src" / "eigenbench"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("config", "Snakefile", "workflow", "profiles"):
        (tmp_path / name).symlink_to(package.parents[1] / name)
    return copy


def test_an_edited_template_plans_the_report(finished, source):
    with (source / "reporting" / "templates" / "style.css").open("a") as file:
        file.write("/* A comment. */\n")
    assert finished[0].planned(PYTHONPATH=str(source.parent)) == {"report reports/"}


def test_whatever_is_removed_is_planned_again(copied):
    results = copied.folder / "results" / "tiny"
    (results / "grid/gem/seed-0/LogisticRegression/model.skops").unlink()
    (results / "single/gem/seed-0/CalibratedLeastSquares/predictions.npz").unlink()
    shutil.rmtree(copied.folder / "reports" / "figures")
    (results / copied.receipt).unlink()
    shutil.rmtree(results / "grid" / "identity")
    planned = copied.planned()
    assert fits(planned) == FITS - {"train tiny/grid: broken"}
    assert {"report reports/", "track tiny"} <= planned


def test_delete_all_output_leaves_logs_downloads_and_the_store(copied):
    copied.finish("--delete-all-output")
    left = {
        path.relative_to(copied.folder).parts[0]
        for path in copied.folder.rglob("*")
        if path.is_file() and ".snakemake" not in path.parts and path.name != ".lock"
    }
    assert left <= {"logs", "mlflow.db", "mlflow.db.lock", "mlartifacts", "data"}
    kept = [path for path in (copied.folder / "data").rglob("*") if path.is_file()]
    assert all("raw" in path.parts for path in kept), kept


@pytest.mark.slow
def test_one_command_repairs_everything(copied, finished):
    """Records edited and cut, a model cut, a part of the results and MLflow's file deleted: one more run."""
    results = copied.folder / "results" / "tiny"
    edited = results / "grid/gem/seed-0/LogisticRegression/record.json"
    record = json.loads(edited.read_text())
    edited.write_text(edited.read_text().replace(str(record["metrics"]["test_error"]), "0.0001"))
    cut = results / "grid/identity/seed-0/LogisticRegression/record.json"
    cut.write_bytes(cut.read_bytes()[:200])
    model = results / "single/gem/seed-0/CalibratedLeastSquares/model.skops"
    model.write_bytes(model.read_bytes()[:-10])
    shutil.rmtree(results / "single" / "random")
    (copied.folder / "data" / "prepared" / "digits.json").write_text("{")
    (copied.folder / "mlflow.db").unlink()
    printed = copied.finish()
    for path in (edited, cut):
        assert f"{path.relative_to(copied.folder)}: damaged or changed" in printed
    pd.testing.assert_frame_equal(copied.metrics(), finished[0].metrics())
    keys = [key for key, _ in tracked(copied.folder)]
    assert keys == sorted(finished[0].metrics().run_key.unique())
    assert copied.planned() == set()


@pytest.mark.slow
@pytest.mark.parametrize("part", ["data/prepared", "results"])
def test_a_clock_that_went_back_changes_no_result(copied, finished, part):
    """Files of one stage are from tomorrow: what follows may be done again, with the same outcome."""
    tomorrow = time.time() + 86_400
    for path in (copied.folder / part).rglob("*"):
        if path.is_file():
            os.utime(path, (tomorrow, tomorrow))
    copied.finish()
    pd.testing.assert_frame_equal(copied.metrics(), finished[0].metrics())
    keys = [key for key, status in tracked(copied.folder) if status != "RUNNING"]
    assert keys == sorted(finished[0].metrics().run_key.unique())


READ_ONLY = ["-n", "--summary", "--dag", "--rulegraph", "--list-rules", "--lint", "--report"]


def test_commands_that_only_read_change_no_byte_of_a_damaged_tree(copied, tmp_path):
    """One damaged file of each kind: all are planned again, and stay where they were until that begins."""
    results = copied.folder / "results" / "tiny"
    damaged = [
        results / "grid/gem/seed-0/LogisticRegression/record.json",
        results / "grid/identity/seed-0/LogisticRegression/model.skops",
        results / "single/gem/seed-0/CalibratedLeastSquares/predictions.npz",
        results / "measured/random/seed-0/record.json",
        results / copied.receipt,
        copied.folder / "data/prepared/digits/X_all.npy",
        copied.folder / "data/prepared/digits.json",
        copied.folder / "data/raw/digits.json",
        copied.folder / "reports/results.csv",
    ]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:-20])
    (results / "grid" / ".half.a1b2c3d4.tmp").write_text("half")
    before = _files(copied.folder)
    printed = {}
    for option in READ_ONLY:
        arguments = [option, str(tmp_path / "report.html")] if option == "--report" else [option]
        printed[option] = copied.run(*arguments).stdout
        assert _files(copied.folder) == before, option
    for rule in ("download", "prepare", "train_tiny_grid", "measure_tiny_measured", "track", "report"):
        assert f'"{rule}"' in printed["--rulegraph"]
    assert "results/tiny/grid/gem/seed-1/LogisticRegression/record.json" in printed["--summary"]
    planned = set(re.findall(r"^ *Job \d+: (.+)$", printed["-n"], flags=re.MULTILINE))
    assert {"download digits", "prepare digits", "track tiny", "report reports/"} | FITS | MEASURED <= planned


def _files(folder):
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and ".snakemake" not in path.parts and path.name != ".lock"
    }


def test_runs_can_be_asked_for_by_their_paths(tmp_path, make_workflow):
    """Also those of a suite that is not configured."""
    workflow = make_workflow(tmp_path, project_folder() / "config" / "suites", suites=("quick",))
    record = "seed-0/CalibratedLeastSquares/record.json"
    small, large = f"results/quick/digits/gem/{record}", f"results/gem_mnist/two_layers/deep_gem/{record}"
    planned = workflow.planned(small, large)
    assert "train gem_mnist/two_layers/deep_gem, CalibratedLeastSquares, seed 0" in planned
    made = {message for message in planned if message.split()[0] not in ("download", "prepare")}
    assert len(made) == 2
    assert any(message.startswith("train quick/digits: ") for message in made)


def test_a_suite_that_is_not_the_default_has_a_report_of_its_own(finished, tmp_path, make_workflow):
    workflow = make_workflow(tmp_path, finished[0].suites_dir, suites=())
    assert "report reports/tiny/" in workflow.planned("tiny")


def test_snakemakes_own_report_shows_the_project(finished, tmp_path):
    page = tmp_path / "report.html"
    finished[0].finish("--report", str(page))
    text = page.read_text()
    assert "Every measured number beside the published one" in text
    assert "tiny-grid-time" in text
