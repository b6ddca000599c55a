"""The files of runs and models, put where MLflow keeps them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname


@contextlib.contextmanager
def artifact_folder(artifact_uri: str, tracking_uri: str) -> Iterator[Path]:
    """Give a folder whose files become the artifacts of a run or model when the block ends.

    Where MLflow keeps them on this machine that is the folder itself; elsewhere they are sent as they are.

    Parameters
    ----------
    artifact_uri : str
        Where MLflow keeps them.
    tracking_uri : str
        The store, which may be the server to send them through.
    """
    parts = urlsplit(artifact_uri)
    if parts.scheme in ("", "file"):
        folder = Path(url2pathname(parts.path) if parts.scheme else artifact_uri)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder_name:
        yield Path(folder_name)
        get_artifact_repository(artifact_uri, tracking_uri=tracking_uri).log_artifacts(folder_name)
