"""The MLflow store: which one, one writer at a time, created whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from eigenbench.tracking import databases
from eigenbench.tracking.databases import sqlite_path
from eigenbench.tracking.errors import TrackingError, TrackingUnavailable

if TYPE_CHECKING:
    from mlflow import MlflowClient

DEFAULT_URI = "sqlite:///mlflow.db"

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


def resolve_uri(tracking_uri: str | None = None) -> str:
    """Return the store to use: the argument, ``MLFLOW_TRACKING_URI``, or ``sqlite:///mlflow.db``.

    Raises
    ------
    TrackingError
        For a plain folder or a ``file:`` address, which MLflow no longer accepts as a store, and for an
        SQLite address without a file.
    """
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    if uri.startswith("file:") or not urlsplit(uri).scheme:
        raise TrackingError(
            f"MLFLOW_TRACKING_URI is {uri!r}: MLflow keeps no runs in plain folders any more; use "
            f"sqlite:///FILE.db, postgresql://…, or the http:// address of an MLflow server"
        )
    if uri.startswith("sqlite:") and sqlite_path(uri) is None:
        raise TrackingError(f"MLFLOW_TRACKING_URI is {uri!r}: name a file, as in {DEFAULT_URI}")
    return uri


def is_server(uri: str) -> bool:
    """Return whether a store is a running MLflow server."""
    return urlsplit(uri).scheme in ("http", "https")


def shown_uri(uri: str) -> str:
    """Return an address without its password, for messages and receipts."""
    parts = urlsplit(uri)
    if parts.password is None:
        return uri
    user, _, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user.partition(':')[0]}:***@{host}").geturl()


def artifact_location(uri: str, suite: str) -> str | None:
    """Return where the files of a suite's runs go.

    A server decides itself (None). Otherwise they go to ``<suite>`` in the folder or address that
    ``EIGENBENCH_ARTIFACTS`` names; by default ``mlartifacts``, beside an SQLite store's file, or in the
    current folder.
    """
    if is_server(uri):
        return None
    if (root := os.environ.get("EIGENBENCH_ARTIFACTS", "")) and urlsplit(root).scheme:
        return f"{root.rstrip('/')}/{suite}"
    path = sqlite_path(uri)
    beside = Path.cwd() if path is None else path.parent
    return (beside / (root or "mlartifacts") / suite).as_uri()


@contextlib.contextmanager
def one_import(uri: str, results_dir: Path) -> Iterator[None]:
    """Keep other imports waiting meanwhile, and turn what goes wrong into one clear error.

    An SQLite store has one importer at a time. Into a database or a server several may import at once, but
    only one from each results folder.

    Parameters
    ----------
    uri : str
        What `resolve_uri` returned.
    results_dir : Path
        Where the records are.

    Raises
    ------
    TrackingUnavailable
        If the store cannot be reached, read or written.
    """
    path = sqlite_path(uri)
    lock = results_dir / ".tracking.lock" if path is None else path.with_name(f"{path.name}.lock")
    with unavailable_on_failure(uri, results_dir), _one_at_a_time(lock):
        yield


@contextlib.contextmanager
def open_store(uri: str) -> Iterator[MlflowClient]:
    """Give a client to a store that answers; an SQLite file is made where there is none."""
    prepare_environment()
    path = sqlite_path(uri)
    if path is None:
        yield _answering_client(uri)
        return
    if not (path.exists() and path.stat().st_size):
        databases.create_sqlite_store(path, _answering_client)
    with databases.cheap_commits(path):
        yield _answering_client(uri)


@contextlib.contextmanager
def read_store(uri: str, results_dir: Path) -> Iterator[MlflowClient | None]:
    """Give a client to look a store through; None where there is none yet. Nothing is written.

    Parameters and errors are those of `one_import`.
    """
    with unavailable_on_failure(uri, results_dir):
        prepare_environment()
        there = is_server(uri) or databases.has_tables(uri)
        yield _answering_client(uri) if there else None


@contextlib.contextmanager
def unavailable_on_failure(uri: str, results_dir: Path) -> Iterator[None]:
    """Turn what MLflow, its server, the database or the disk refuses into one clear error."""
    try:
        yield
    except TrackingError:
        raise
    except Exception as error:
        if not (isinstance(error, OSError) or _is_from_mlflow(error)):
            raise
        raise TrackingUnavailable(
            f"cannot use the MLflow store {shown_uri(uri)}: {explain(error, uri)}. The records are safe in "
            f"{results_dir}; when the store can be used again, run the same snakemake command again, or "
            f"eigenbench sync, to import them"
        ) from error


def explain(error: Exception, uri: str) -> str:
    """Return an error's text on one line of bounded length, without the password of the store."""
    text = " ".join(str(error).split())
    if password := urlsplit(uri).password:
        text = text.replace(f":{password}@", ":***@")
    return text[:600]


def _is_from_mlflow(error: Exception) -> bool:
    origins = ("mlflow", "sqlalchemy", "sqlite3", "psycopg2", "requests", "urllib3")
    return type(error).__module__.split(".")[0] in origins


def prepare_environment() -> None:
    """Set MLflow's environment variables before its import: short time-outs, no telemetry, no chatter."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    logging.getLogger("alembic").setLevel(logging.WARNING)


def _answering_client(uri: str) -> MlflowClient:
    from mlflow import MlflowClient

    with contextlib.nullcontext() if is_server(uri) else databases.first_use(uri):
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        client.search_experiments(max_results=1)
    return client


@contextlib.contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another import (it holds {lock})", file=sys.stderr)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
