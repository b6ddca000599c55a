"""A job starts in a fraction of a second: it imports nothing heavy before it knows that it needs it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
HEAVY = ("sklearn", "scipy", "pandas", "matplotlib", "mlflow", "skops")

PLAN_A_JOB = """
import eigenbench.experiments.__main__, eigenbench.experiments.job, eigenbench.experiments.assemble
from pathlib import Path
eigenbench.experiments.__main__._plan(Path({suites!r}) / "quick.yaml")
"""

PLAN_THE_DAG = """
from pathlib import Path
from eigenbench.experiments.dag import Dag
Dag({{"suites": ["quick"]}}, Path("config.yaml"), Path({suites!r}), check=False)
"""


@pytest.mark.parametrize("work", [PLAN_A_JOB, PLAN_THE_DAG], ids=["a job", "snakemake in a cluster job"])
def test_nothing_heavy_is_imported(work, tmp_path):
    shutil.copytree(REPOSITORY / "config" / "suites", tmp_path, dirs_exist_ok=True)
    ask = f"import sys; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    command = [sys.executable, "-c", work.format(suites=str(tmp_path)) + ask]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
