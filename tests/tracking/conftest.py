"""Records with everything in them, and MLflow stores to import them into."""

import hashlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from record_files import DATASETS, ENVIRONMENT
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenbench.bench.records.record import Record, write_record
from eigenbench.methods.model_file import save_model
from eigenbench.tracking.importer import ImportSummary, import_records
from eigenbench.tracking.store import open_store


@pytest.fixture(scope="session")
def fitted() -> Any:
    X, y = load_digits(return_X_y=True)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)).fit(X.astype(np.float32), y)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory) -> Path:
    """Return the file of a store without runs; migrating one takes seconds, copying it does not."""
    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    open_store(f"sqlite:///{path}")
    return path


@pytest.fixture
def store_uri(tmp_path, empty_store, monkeypatch) -> str:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)
    shutil.copy2(empty_store, tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


class Results:
    """A results folder to put records into."""

    def __init__(self, folder: Path, fitted: Any):
        self.folder = folder
        self.model = folder / "artifacts" / "train" / "0" / "model.skops"
        save_model(self.model, fitted)

    def record(self, seed: int = 0, **changes: Any) -> Path:
        """Write a record; what is not in ``changes`` is as after a run that went well."""
        content: dict[str, Any] = {
            "run_key": f"{seed:016x}",
            "suite": "tiny",
            "experiment": "main",
            "dataset": "digits",
            "method": "gem",
            "classifier": "LogisticRegression",
            "seed": seed,
            "deterministic": False,
            "status": "ok",
            "metrics": {"test_error": 0.03, "precision@1": 0.97},
            "curves": {"loss_curve": [[0, 2.0], [1, 1.0], [2, 0.5]]},
            "confusion": {"labels": [str(i) for i in range(10)], "matrix": np.eye(10, dtype=int).tolist()},
            "params": {"gem__gamma": 0.1, "gem__note": "x" * 7000, "classifier__options": {"C": 1}},
            "dimension": 540,
            "fit_seconds": 0.5,
            "dataset_info": DATASETS["digits"].model_copy(update={"n_test": 450}),
            "model": {
                "path": "",
                "sha256": hashlib.sha256(self.model.read_bytes()).hexdigest(),
                "bytes": self.model.stat().st_size,
                "input_dtype": "float32",
                "n_features": 64,
            },
            "environment": ENVIRONMENT,
            "started": "2026-01-02T03:04:05+00:00",
            "finished": "2026-01-02T03:05:05+00:00",
        }
        content |= changes
        place = "{suite}/{experiment}/{method}/seed-{seed}/{run_key}".format(**content)
        path = self.folder / place / "record.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        if content["model"]:
            content["model"] |= {"path": f"{place}/model.skops"}
            path.with_name("model.skops").unlink(missing_ok=True)
            path.with_name("model.skops").hardlink_to(self.model)
        write_record(path, Record.model_validate(content))
        return path

    def bring(self, paths: Iterable[Path], uri: str | None = None, **options: Any) -> ImportSummary:
        """Import records of the folder."""
        return import_records(paths, **{"results_dir": self.folder, "tracking_uri": uri} | options)

    def failed_record(self, seed: int = 0, status: str = "failed") -> Path:
        failure = {"stage": "train", "type": "ValueError", "message": "input has NaN", "log": "logs/x.log"}
        nothing = dict.fromkeys(("confusion", "model", "dimension", "fit_seconds", "environment"))
        times = {"started": None, "finished": None}
        return self.record(
            seed, status=status, failure=failure, metrics={}, curves={}, params={}, **nothing, **times
        )


@pytest.fixture
def results(tmp_path, fitted) -> Results:
    return Results(tmp_path / "results", fitted)


class Server:
    """A real ``mlflow server`` on loopback that can go away and come back."""

    def __init__(self, folder: Path):
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri"]
        command += [f"sqlite:///{self.folder / 'mlflow.db'}", "--host", "127.0.0.1", "--workers", "1"]
        command += ["--port", str(self.port), "--artifacts-destination", str(self.folder / "served")]
        quiet = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env=os.environ | quiet, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=5).close()
                return
            except OSError:
                time.sleep(0.2)
        self.stop(kill=True)
        raise TimeoutError((self.folder / "server.log").read_text())

    def stop(self, kill: bool = False) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL if kill else signal.SIGTERM)
            self.process.wait()
            self.process = None


@pytest.fixture
def server(tmp_path, store_uri):
    running = Server(tmp_path)
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def postgres_binaries() -> Path:
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    pytest.importorskip("psycopg2", reason="needs the extra: pip install eigenbench[postgres]")
    return folders[-1]


@pytest.fixture(scope="session")
def postgres(postgres_binaries):
    """A PostgreSQL server of its own, on a socket in a temporary folder; gives a maker of databases."""
    folder = Path(tempfile.mkdtemp(prefix="eigenbench-pg-"))
    prefix: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        known = {user.pw_name for user in pwd.getpwall()}
        user = next((name for name in ("postgres", "nobody") if name in known), None)
        if user is None or shutil.which("setpriv") is None:
            pytest.skip("as root, PostgreSQL needs an unprivileged user and setpriv")
        shutil.chown(folder, user)
        prefix = ["setpriv", f"--reuid={user}", "--clear-groups"]
    folder.chmod(0o755)
    data, environment = folder / "data", os.environ | {"HOME": str(folder)}
    initdb = [*prefix, postgres_binaries / "initdb", "-D", data, "-U", "lab", "-A", "trust", "--no-sync"]
    subprocess.run(initdb, check=True, capture_output=True, cwd=folder, env=environment)
    command = [*prefix, postgres_binaries / "postgres", "-D", data, "-k", folder, "-F"]
    command += ["-c", "listen_addresses=", "-c", "max_connections=60"]
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    made: list[str] = []

    def database() -> str:
        name = f"mlflow{len(made)}"
        made.append(name)
        subprocess.run(
            [postgres_binaries / "createdb", "-h", folder, "-U", "lab", name], check=True, capture_output=True
        )
        return f"postgresql://lab@/{name}?host={folder}"

    try:
        ready = [postgres_binaries / "pg_isready", "-h", folder, "-U", "lab"]
        deadline = time.monotonic() + 60
        while subprocess.run(ready, capture_output=True, check=False).returncode != 0:
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail((folder.parent / f"{folder.name}.log").read_text())
            time.sleep(0.1)
        yield database
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)
        (folder.parent / f"{folder.name}.log").unlink()
