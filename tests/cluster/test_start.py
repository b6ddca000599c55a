"""Imports of a job at its start: plan and downloads import nothing heavy, fits what they fit with."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.workflow

SUITES = Path(__file__).resolve().parents[2] / "config" / "suites"
HEAVY = ("sklearn", "scipy", "pandas", "matplotlib", "mlflow", "skops")

PLAN = f"""
from pathlib import Path
from eigenbench.bench.jobs.workflow import Workflow
assert Workflow({{"suites": ["quick"]}}, Path("config.yaml"), Path({str(SUITES)!r}), check=False).shared_jobs
"""
FITS = ("train", "measure")
IMPORT = "import eigenbench.bench.jobs."

# The work, and the libraries that it needs from its start, ever more of them.
WORK = {
    "snakemake in a cluster job": (PLAN, set()),
    "download and prepare": (f"{IMPORT}data", {"scipy"}),
    # scikit-learn imports pandas where it is installed.
    **{fit: (f"{IMPORT}{fit}", {"sklearn", "scipy", "pandas", "skops"}) for fit in FITS},
}


@pytest.fixture(scope="module")
def imported():
    """Modules that a process has imported after each of some steps, in their order."""
    ask = f"\nimport sys; print(*(name for name in {HEAVY!r} if name in sys.modules))\n"
    program = "".join(work + ask for work, _ in WORK.values())
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return dict(zip(WORK, done.stdout.split("\n"), strict=False))


@pytest.mark.parametrize("work", WORK)
def test_nothing_heavy_is_imported(work, imported):
    assert set(imported[work].split()) <= WORK[work][1]
