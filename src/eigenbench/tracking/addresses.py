"""Addresses: of the store in use and of its files, without secrets, and of pages of the dashboard."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, unquote, urlencode, urlsplit

if TYPE_CHECKING:
    from sqlalchemy import URL

DEFAULT_URI = "sqlite:///mlflow.db"
_MASK = "***"
_LONGEST_MESSAGE = 600


class TrackingError(RuntimeError):
    """MLflow's address, its store or a run cannot be used; the message says what to change."""


def resolve_uri(tracking_uri: str | None = None) -> str:
    """Return the store to use: the argument, ``MLFLOW_TRACKING_URI``, or ``sqlite:///mlflow.db``.

    A TrackingError refuses a plain folder, ``file:``, SQLite without a file, and what is no address.
    """
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    parts = _parsed(uri)
    refused = f"MLFLOW_TRACKING_URI is {shown_uri(uri)!r}"
    if parts is None or parts.drivername == "file":
        raise TrackingError(
            f"{refused}, which is no address of a store; use sqlite:///FILE.db, postgresql://…, or the "
            f"http:// address of an MLflow server, with special characters as %XX, such as [ as %5B"
        )
    if parts.get_backend_name() == "sqlite" and sqlite_path(uri) is None:
        raise TrackingError(f"{refused}: name a file, as in {DEFAULT_URI}")
    return uri


def is_server(uri: str) -> bool:
    """Return whether a store is a running MLflow server."""
    return uri.partition("://")[0] in ("http", "https")


def sqlite_path(uri: str) -> Path | None:
    """Return the absolute path of an SQLite store's file; None for any other store."""
    parts = _parsed(uri)
    if parts is None or parts.get_backend_name() != "sqlite" or parts.database in (None, "", ":memory:"):
        return None
    return Path(str(parts.database)).absolute()


def shown_uri(uri: str) -> str:
    """Return an address for messages, receipts and logs: no password, lone user name or query value."""
    parts = _parsed(uri)
    if parts is None:
        scheme, separator, _ = uri.partition("://")
        return f"{scheme}://{_MASK}" if separator else uri if "@" not in uri else _MASK
    if parts.username and parts.password is None:
        parts = parts.set(username=_MASK)
    if "@" in (parts.host or ""):  # what follows an @ inside a password
        parts = parts.set(host=str(parts.host).rpartition("@")[2])
    path, fragment, _ = (parts.database or "").partition("#")
    if parts.host and fragment:
        parts = parts.set(database=f"{path}#{_MASK}")
    parts = parts.set(query=dict.fromkeys(parts.query, _MASK))
    return parts.render_as_string(hide_password=True).replace(quote(_MASK), _MASK)


def without_secrets(text: str, uri: str) -> str:
    """Return a text on one line of bounded length, without the secrets of an address or parts of them."""
    text = " ".join(text.split()).replace(uri, shown_uri(uri))
    secrets = {form for secret in _secrets(uri) for form in (secret, unquote(secret), quote_plus(secret))}
    parts = {part for secret in secrets for part in re.split(r"\W", secret) if len(part) > 3}
    for secret in sorted(secrets | parts, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", _MASK, text)
    return text[:_LONGEST_MESSAGE]


def _secrets(uri: str) -> list[str]:
    parts = _parsed(uri)
    if parts is None:
        return [uri.partition("://")[2].rpartition("@")[0]] if "@" in uri else []
    values = [str(parts.password or parts.username or ""), (parts.host or "").rpartition("@")[0]]
    values += [(parts.database or "").partition("#")[2]] if parts.host else []
    for found in parts.query.values():
        values += [found] if isinstance(found, str) else found
    return [value for value in values if value]


def artifact_location(uri: str, suite: str) -> str | None:
    """Return where the files of a suite's runs go, below ``EIGENBENCH_ARTIFACTS``; None: the server decides.

    By default that is ``mlartifacts`` beside an SQLite store's file, or in the current folder. A
    TrackingError refuses a name that would lead out of it; only a record from elsewhere can have one.
    """
    if not re.fullmatch(r"\w[\w.-]*", suite):
        raise TrackingError(f"{suite!r} in a record is not the name of a suite: leave the record out")
    if is_server(uri):
        return None
    root = os.environ.get("EIGENBENCH_ARTIFACTS", "")
    if "://" in root:
        return f"{root.rstrip('/')}/{suite}"
    path = sqlite_path(uri)
    beside = Path.cwd() if path is None else path.resolve().parent
    return (beside / (root or "mlartifacts") / suite).as_uri()


def table_page(experiment_id: str, search: str, order: str) -> str:
    """Return the page of those runs of an experiment that a search finds; it cannot choose columns."""
    shown = {"searchFilter": search, "orderByKey": order, "orderByAsc": "true", "startTime": "ALL"}
    query = urlencode(shown | {"workflowType": "machine_learning"}, quote_via=quote)
    return f"#/experiments/{experiment_id}/runs?{query}"


def run_link(experiment_id: str, run_id: str, page: str = "") -> str:
    """Return the address of a run below that of the dashboard, which opens on model training."""
    return f"#/experiments/{experiment_id}/runs/{run_id}{page}?workflowType=machine_learning"


def _parsed(uri: str) -> URL | None:
    """Return the parts of an address; None if it has none, as a plain folder."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        urlsplit(uri)  # as MLflow does
        return make_url(uri)
    except (ArgumentError, ValueError):
        return None
