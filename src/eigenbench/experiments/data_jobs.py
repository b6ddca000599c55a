"""Download and prepare jobs: a dataset that cannot be had is reported, and only its own runs are skipped."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from eigenbench import datasets
from eigenbench.datasets.errors import DatasetUnavailable, MalformedData
from eigenbench.experiments.tasks import content_key

logger = logging.getLogger(__name__)


def download(name: str, data_dir: Path, retry: str) -> dict[str, Any]:
    """Fetch a dataset's files.

    Parameters
    ----------
    name : str
        A catalogue entry.
    data_dir : Path
        Where raw files go.
    retry : str
        Kept in the outcome, so that the workflow can tell which attempt this was.

    Returns
    -------
    dict
        ``status`` is ``ok``, or ``not_run`` with the failure when no source can be reached.
    """
    try:
        manifest = datasets.fetch(name, data_dir=data_dir)
    except DatasetUnavailable as error:
        logger.warning("%s", error)
        failure = {"stage": "download", "type": "DatasetUnavailable", "message": str(error), "log": None}
        return {"dataset": name, "status": "not_run", "failure": failure, "retry": retry}
    return {"dataset": name, "status": "ok", "retry": retry, "files": manifest.model_dump(mode="json")}


def prepare(name: str, data_dir: Path, downloaded: dict[str, Any]) -> dict[str, Any]:
    """Bring fetched files into memory-mapped form.

    Returns
    -------
    dict
        ``status`` (``failed`` for files that are not what the catalogue says), ``failure``, and, unless
        None, the prepared ``folder``, the dataset's ``card`` and the ``sha256`` of its arrays.
    """
    outcome = {"dataset": name, "status": downloaded["status"], "failure": downloaded.get("failure")}
    absent = {"folder": None, "card": None, "sha256": None}
    if outcome["status"] != "ok":
        return outcome | absent
    try:
        card = datasets.prepare(name, data_dir=data_dir)
    except MalformedData as error:
        logger.error("%s", error)
        failure = {"stage": "prepare", "type": "MalformedData", "message": str(error), "log": None}
        return outcome | absent | {"status": "failed", "failure": failure}
    folder = data_dir / "prepared" / name
    arrays = {name: record.sha256 for name, record in card.arrays.items()}
    return outcome | {
        "folder": str(folder),
        "card": card.model_dump(mode="json"),
        "sha256": content_key([arrays, card.split.model_dump(mode="json")], 64),
    }
