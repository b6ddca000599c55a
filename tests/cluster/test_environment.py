"""``--sdm env-modules``: jobs run in the environment that the module names, not in Snakemake's own."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.workflow

# Where Debian's environment-modules, and most clusters, define the shell function `module`.
MODULE_FUNCTION = Path("/usr/share/modules/init/bash")

WRAPPER = """#!/bin/sh
echo "$@" >> {log}
exec {python} "$@"
"""


@pytest.fixture
def pinned(tmp_path, monkeypatch):
    """An environment whose Python notes what it is started with; return the file with its notes."""
    if not MODULE_FUNCTION.exists():
        pytest.skip("environment modules are not installed (Debian: environment-modules)")
    log = tmp_path / "started.txt"
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(WRAPPER.format(log=log, python=sys.executable))
    python.chmod(0o755)
    monkeypatch.setenv("EIGENBENCH_ENV", str(tmp_path / "environment"))
    monkeypatch.setenv("BASH_ENV", str(MODULE_FUNCTION))
    return log


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "jobs"), [("single", {"train": 1}), ("stages", {"train": 1})])
def test_every_job_runs_in_the_environment_of_the_module(pinned, tmp_path, make_workflow, suite, jobs):
    workflow = make_workflow(tmp_path / "run", suite)
    workflow.run("--sdm", "env-modules")
    started = (line.split() for line in pinned.read_text().splitlines())
    modules = Counter(
        words[2] if words[1].endswith(".jobs") else words[1] for words in started if words[0] == "-m"
    )
    others = {"eigenbench.tracking": 1, "eigenbench.reporting": 1}
    assert modules == {"download": 1, "prepare": 1} | jobs | others
    assert workflow.records() == workflow.planned_records()


@pytest.mark.slow
def test_without_it_the_environment_is_not_used(pinned, tmp_path, make_workflow):
    workflow = make_workflow(tmp_path / "run", "single")
    workflow.run("--until", "prepare")
    assert not pinned.exists()


def test_a_missing_environment_is_named(pinned, monkeypatch):
    monkeypatch.setenv("EIGENBENCH_ENV", "/nowhere")
    modules = Path(__file__).resolve().parents[2] / "workflow" / "envs" / "modules"
    command = f"module use {modules} && module load eigenbench"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "EIGENBENCH_ENV does not name a Python environment" in done.stderr
