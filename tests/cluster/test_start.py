"""What a job imports when it starts: the plan and downloads nothing heavy, fits what they fit with."""

import subprocess
import sys
from pathlib import Path

import pytest

SUITES = Path(__file__).resolve().parents[2] / "config" / "suites"
HEAVY = ("sklearn", "scipy", "pandas", "matplotlib", "mlflow", "skops")

PLAN = f"""
from pathlib import Path
from eigenbench.experiments.workflow import Workflow
assert Workflow({{"suites": ["quick"]}}, Path("config.yaml"), Path({str(SUITES)!r}), check=False).shared_jobs
"""
FITS = ("moment_files", "embed", "search", "train", "fit", "measure")
IMPORT = "import eigenbench.experiments."

# The work, and the libraries that it needs from its start.
WORK = {
    "snakemake in a cluster job": (PLAN, set()),
    "download": (f"{IMPORT}download", set()),
    "prepare": (f"{IMPORT}prepare", {"scipy"}),
    # scikit-learn imports pandas where it is installed.
    **{fit: (f"{IMPORT}{fit}", {"sklearn", "scipy", "pandas", "skops"}) for fit in FITS},
}


@pytest.mark.parametrize(("work", "needed"), WORK.values(), ids=WORK)
def test_nothing_heavy_is_imported(work, needed):
    ask = f"\nimport sys; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", work + ask], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= needed
