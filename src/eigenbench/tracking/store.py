"""The MLflow store: one writer at a time, made whole or not at all, and clear errors."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from eigenbench.tracking.addresses import (
    DEFAULT_URI,
    TrackingError,
    is_server,
    resolve_uri,
    shown_uri,
    sqlite_path,
    without_secrets,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from sqlalchemy import Connection

# What the user has set wins. A dead server is noticed after about ten seconds, not ten minutes.
_ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_UV_AUTO_DETECT": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}

# Any number that every import agrees on; this one is "eigenben" in ASCII.
_ADVISORY_LOCK = 0x656967656E62656E


@contextlib.contextmanager
def one_import(uri: str, results_dir: Path) -> Iterator[str | None]:
    """Keep other imports waiting meanwhile, and turn what goes wrong into one clear error.

    An SQLite store has one importer at a time; its mark is given. Into a database or a server several may
    import at once, but only one from each results folder.
    """
    path = sqlite_path(uri)
    lock = results_dir / ".tracking.lock" if path is None else _lock_of(path)
    with unavailable_on_failure(uri, results_dir), _locked(lock):
        if path is None:
            yield None
            return
        mark = store_mark(path) or secrets.token_hex(8)
        yield mark
        lock.write_text(f"{mark} {_state(path)}", encoding="ascii")


def store_mark(path: Path) -> str | None:
    """Return the mark in the lock file of an SQLite store; None if others have written to the store since.

    It changes when an import finds the store in another state than the import before has left it.
    """
    try:
        mark, _, state = _lock_of(path).read_text(encoding="ascii").partition(" ")
        return mark if state == _state(path) else None
    except (OSError, ValueError):
        return None


def receipt_name(tracking_uri: str | None = None) -> str:
    """Return the name of a store's receipts: two working folders may share results, and not the store."""
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    path = sqlite_path(uri)
    place = shown_uri(uri) if path is None else os.path.realpath(path)
    return f"tracked.{hashlib.sha256(place.encode()).hexdigest()[:8]}.json"


def receipt_is_current(path: Path, tracking_uri: str | None = None) -> bool:
    """Return whether only imports have written to the store since; only an SQLite file is asked."""
    try:
        receipt, uri = json.loads(path.read_bytes()), resolve_uri(tracking_uri)
        file = sqlite_path(uri)
        return (
            receipt["tracking_uri"] == shown_uri(uri)
            and not receipt["failed"]
            and bool(receipt["run_ids"])
            and (file is None or None is not receipt["store_mark"] == store_mark(file))
        )
    except Exception:  # of the receipt or the store; the next import repairs it or says what is wrong
        return False


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _state(path: Path) -> str:
    found = path.stat()
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"


def open_store(uri: str) -> MlflowClient:
    """Return a client of a store that answers; an SQLite file is made where there is none.

    The file is made under another name first: half a schema, left by a kill, could never be used.
    """
    prepare_environment()
    path = sqlite_path(uri)
    if path is not None and not (path.exists() and path.stat().st_size):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.new")
        for leftover in path.parent.glob(f"{unfinished.name}*"):
            leftover.unlink()
        _answering_client(f"sqlite:///{unfinished}")
        unfinished.replace(path)
    return _answering_client(uri)


def read_store(uri: str) -> MlflowClient | None:
    """Return a client to look a store through; None where there is none yet. Nothing is written."""
    import sqlalchemy

    prepare_environment()
    if (path := sqlite_path(uri)) is not None and not path.exists():
        return None
    if not is_server(uri):
        with _connection(uri) as connection:
            if not sqlalchemy.inspect(connection).get_table_names():
                return None
    return _answering_client(uri)


@contextlib.contextmanager
def unavailable_on_failure(uri: str, results_dir: Path) -> Iterator[None]:
    """Turn what MLflow, its server, the database or the disk refuses into one clear error."""
    try:
        yield
    except ImportError as error:
        remedy = "eigenbench[postgres]" if error.name == "psycopg2" else error.name
        raise TrackingError(f"the store needs a package ({error}): pip install '{remedy}'") from error
    except Exception as error:
        origins = ("mlflow", "alembic", "sqlalchemy", "sqlite3", "psycopg2", "requests", "urllib3")
        if not (isinstance(error, OSError) or type(error).__module__.split(".")[0] in origins):
            raise
        raise TrackingError(
            f"cannot use the MLflow store {shown_uri(uri)}: {without_secrets(str(error), uri)}. The records "
            f"are safe in {results_dir}; when the store can be used again, run the same snakemake command "
            f"again, or eigenbench sync, to import them"
        ) from error


def prepare_environment() -> None:
    """Set MLflow's environment variables before its import: short time-outs, no telemetry, no chatter."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    logging.getLogger("alembic").setLevel(logging.WARNING)


def _answering_client(uri: str) -> MlflowClient:
    """Return a client of a store that has answered; one import at a time makes the tables of a database."""
    from mlflow import MlflowClient
    from sqlalchemy import text

    # If a database is absent, this finds it out at once; MLflow would try again for two minutes.
    with contextlib.nullcontext() if is_server(uri) else _connection(uri) as connection:
        if connection is not None and connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_lock({_ADVISORY_LOCK})"))
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        client.search_experiments(max_results=1)
    return client


@contextlib.contextmanager
def _connection(uri: str) -> Iterator[Connection]:
    """Connect to a database."""
    import sqlalchemy

    try:
        engine = sqlalchemy.create_engine(uri, poolclass=sqlalchemy.NullPool)
    except sqlalchemy.exc.ArgumentError as error:
        raise TrackingError(f"not the address of a database: {without_secrets(str(error), uri)}") from error
    with engine.connect() as connection:
        yield connection


@contextlib.contextmanager
def _locked(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another import (it holds {lock})", file=sys.stderr)
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            warning = f"warning: {lock} cannot be locked ({error.strerror}): import once at a time"
            print(warning, file=sys.stderr)
        yield
