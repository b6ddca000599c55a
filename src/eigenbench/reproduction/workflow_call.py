"""Run a suite by the workflow, for a command that compares its results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from eigenbench.reproduction.reference import ReproductionError


def run_suite(suite: str, results_dir: Path, suites_dir: Path | None = None) -> None:
    """Call ``snakemake SUITE`` in the working folder, with its output on the terminal.

    Raises
    ------
    ReproductionError
        If there is no Snakefile, or the workflow fails. Runs that failed have records, and are compared.
    """
    if not Path("Snakefile").is_file():
        raise ReproductionError(
            f"no Snakefile in {Path.cwd()}: call --run in a clone of eigenbench, or run the suite "
            "there and name its --results-dir"
        )
    settings = [
        f"results_dir={results_dir}",
        f"suites=[{suite}]",
        *([f"suites_dir={suites_dir}"] if suites_dir else []),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--config", *settings, "--", suite], check=False
    )
    if done.returncode:
        raise ReproductionError(f"snakemake {suite} ended with {done.returncode}; the cause is above")
