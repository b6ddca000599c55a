"""The workflow's own files: formatted, and without a finding of Snakemake's linter that applies here."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.workflow

# The environment is that of the package itself, or a module: no rule names a conda environment or
# a container.
NOT_APPLICABLE = {
    "* Specify a conda environment or container for each rule.:",
    "* Additionally specify a conda environment or container for each rule, "
    "environment modules are not enough:",
}


def test_snakemake_lint_has_no_finding(tmp_path, make_workflow):
    done = make_workflow(tmp_path).run("--lint")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert any(line.startswith("Lints for rule train") for line in lines), done.stdout[-2000:]
    assert [line for line in lines if line.startswith("* ") and line not in NOT_APPLICABLE] == []


def test_snakefmt_is_clean():
    command = [sys.executable, "-m", "snakefmt", "--check", "Snakefile", "workflow"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
