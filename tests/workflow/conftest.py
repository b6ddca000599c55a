"""Runs the real workflow in temporary folders, on real data that ships with scikit-learn."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # where the tests find snakemake_server

from snakemake_server import SnakemakeServer

REPOSITORY = Path(__file__).resolve().parents[2]
SUITES = Path(__file__).resolve().parent / "suites"

# No mirror, no index, no way out: what these runs use is on the machine.
OFFLINE = {
    "EIGENBENCH_MIRROR": "",
    "PIP_NO_INDEX": "1",
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "no_proxy": "",
}


class Workflow:
    """The command ``snakemake`` with its results in one folder."""

    server: SnakemakeServer

    def __init__(self, folder: Path, suites_dir: Path = SUITES, suites: tuple[str, ...] = ("tiny",)):
        self.folder = folder
        self.suites_dir = suites_dir
        self.suites = suites
        self.config: list[str] = []

    def arguments(self, *arguments: str) -> list[str]:
        return [
            *("--snakefile", str(REPOSITORY / "Snakefile")),
            *("--directory", str(self.folder), "--cores", "2", *arguments),
            *("--config", f"suites_dir={self.suites_dir}", f"suites=[{','.join(self.suites)}]"),
            *self.config,
        ]

    def environment(self, **extra: str) -> dict[str, str]:
        base = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
        return base | OFFLINE | extra

    def run(self, *arguments: str, timeout: float = 300, **extra: str) -> subprocess.CompletedProcess[str]:
        told = self.arguments(*arguments)
        with tempfile.NamedTemporaryFile("r+", prefix="snakemake-", suffix=".log") as printed:
            status = self.server.run(told, self.environment(**extra), Path(printed.name), timeout)
            return subprocess.CompletedProcess(told, status, printed.read())

    def start(self, *arguments: str, **extra: str) -> subprocess.Popen[bytes]:
        """Start in a session of its own, so that everything it starts can be killed at once."""
        with (self.folder / "started.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "snakemake", *self.arguments(*arguments)],
                env=self.environment(**extra),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def results(self) -> pd.DataFrame:
        return pd.read_csv(self.folder / "reports" / "results.csv")

    def metrics(self) -> pd.DataFrame:
        """What a run must reproduce: everything but times and memory."""
        columns = ["suite", "dataset", "method", "classifier", "seed", "metric", "value", "status", "run_key"]
        return self.results()[columns]

    def records(self) -> list[Path]:
        return sorted((self.folder / "results").glob("*/*/*/seed-*/**/record.json"))

    def planned(self, *arguments: str, **extra: str) -> set[str]:
        """What a dry run says that it would do: the message of every job but the last."""
        done = self.run("--dry-run", *arguments, **extra)
        assert done.returncode == 0, done.stdout[-4000:]
        messages = re.findall(r"^ *Job \d+: (.+)$", done.stdout, flags=re.MULTILINE)
        return {message for message in messages if message != "all done"}


@pytest.fixture(scope="session", autouse=True)
def server():
    """What all workflows run on that are not started to be killed."""
    Workflow.server = SnakemakeServer()
    yield
    Workflow.server.close()


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> tuple[Workflow, str]:
    """A workflow that ran undisturbed, and what it printed. Read it; copy it to change it."""
    workflow = Workflow(tmp_path_factory.mktemp("finished"))
    status = workflow.start().wait(timeout=300)
    log = workflow.folder / "started.log"
    printed = log.read_text()
    log.unlink()
    assert status == 0, printed[-6000:]
    return workflow, printed


@pytest.fixture
def copied(finished, tmp_path) -> Workflow:
    """A copy of the finished workflow, with its modification times."""
    folder = tmp_path / "copy"
    shutil.copytree(finished[0].folder, folder, symlinks=True)
    return Workflow(folder)


@pytest.fixture(scope="session")
def make_workflow() -> type[Workflow]:
    """Return ``Workflow``: call it with a folder, and a folder of suites."""
    return Workflow
