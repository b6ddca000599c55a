"""The workflow's own files: formatted, and without a finding of Snakemake's linter that applies here."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.workflow


def test_snakemake_lint_has_no_finding(tmp_path, make_workflow):
    done = make_workflow(tmp_path).run("--lint")
    assert done.returncode == 0, done.stdout[-2000:]


def test_snakefmt_is_clean():
    command = [sys.executable, "-m", "snakefmt", "--check", "Snakefile", "workflow"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
