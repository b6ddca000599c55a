"""Runs the real workflow in temporary folders, on real data that ships with scikit-learn."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from snakemake_server import SnakemakeServer

from eigenbench.tracking.store import receipt_name

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

    def finish(self, *arguments: str, **extra: str) -> str:
        """Run to an end that is no failure; return what was printed."""
        done = self.run(*arguments, **extra)
        assert done.returncode == 0, done.stdout[-6000:]
        return done.stdout

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

    @property
    def receipt(self) -> str:
        """The name of the receipts of the store in the folder."""
        return receipt_name(f"sqlite:///{self.folder / 'mlflow.db'}")

    def results(self) -> pd.DataFrame:
        return pd.read_csv(self.folder / "reports" / "results.csv")

    def metrics(self) -> pd.DataFrame:
        """Metrics of the runs, without times and memory."""
        columns = ["suite", "dataset", "method", "classifier", "seed", "metric", "value", "status", "run_key"]
        return self.results()[columns]

    def records(self) -> list[Path]:
        return sorted((self.folder / "results").glob("*/*/*/seed-*/**/record.json"))

    def planned(self, *arguments: str, **extra: str) -> set[str]:
        """Messages of the jobs that a dry run lists, without the last."""
        printed = self.finish("--dry-run", *arguments, **extra)
        messages = re.findall(r"^ *Job \d+: (.+)$", printed, flags=re.MULTILINE)
        return {message for message in messages if message != "all done"}


@pytest.fixture(scope="session", autouse=True)
def server():
    """The Snakemake server of all workflows that no test kills."""
    Workflow.server = SnakemakeServer()
    yield
    Workflow.server.close()


@pytest.fixture(scope="session")
def finished(server, tmp_path_factory, worker_id) -> tuple[Workflow, str]:
    """A workflow that ran undisturbed, and what it printed. Read it; copy it to change it.

    The first process of the tests that asks for it runs it, and each works with a copy of its own.
    """
    own = tmp_path_factory.getbasetemp()
    shared = (own if worker_id == "master" else own.parent) / "undisturbed"
    shared.mkdir(exist_ok=True)
    printed, workflow = shared / "printed.txt", Workflow(shared / "workflow")
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not printed.exists():
            shutil.rmtree(workflow.folder, ignore_errors=True)
            workflow.folder.mkdir()
            status = workflow.start().wait(timeout=300)
            log = workflow.folder / "started.log"
            assert status == 0, log.read_text()[-6000:]
            log.rename(printed)
    copy = copy_of(workflow, own / "finished")
    assert copy.planned() == set()
    return copy, printed.read_text()


def copy_of(workflow: Workflow, folder: Path) -> Workflow:
    """Copy all that a workflow left, with its modification times, as if its store had been made there."""
    shutil.copytree(workflow.folder, folder, symlinks=True)
    lock, store = folder / "mlflow.db.lock", (folder / "mlflow.db").stat()
    mark = lock.read_text().partition(" ")[0]
    lock.write_text(f"{mark} {store.st_ino} {store.st_size} {store.st_mtime_ns}")
    copy = Workflow(folder)
    for receipt in folder.rglob(workflow.receipt):
        receipt.rename(receipt.with_name(copy.receipt))
    return copy


@pytest.fixture
def copied(finished, tmp_path) -> Workflow:
    """A copy of the finished workflow, to change."""
    return copy_of(finished[0], tmp_path / "copy")


@pytest.fixture(scope="session")
def make_workflow() -> type[Workflow]:
    """Return ``Workflow``: call it with a folder, and a folder of suites."""
    return Workflow
