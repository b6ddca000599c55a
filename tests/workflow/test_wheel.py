"""The installed wheel: workflow, profiles and suites, in any folder."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import eigenbench

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(REPOSITORY)], check=True)
    (built,) = folder.iterdir()
    return built


def test_the_wheel_carries_what_the_workflow_consists_of(wheel):
    assert wheel.name.split("-")[1] == eigenbench.__version__
    command = ["git", "ls-files", "Snakefile", "config", "profiles", "workflow"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "eigenbench/py.typed" in names
    assert {f"eigenbench/_project/{name}" for name in done.stdout.split()} <= names


@pytest.mark.slow
def test_the_installed_package_plans_the_quick_suite_in_an_empty_folder(wheel, tmp_path):
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site)]
    subprocess.run([*install, str(wheel)], check=True)
    command = [sys.executable, "-m", "eigenbench.cli", "run", "quick", "--dry-run"]
    environment = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    told = done.stdout + done.stderr
    assert "profiles/default for setting default" in told
    assert "train_quick_digits" in told
