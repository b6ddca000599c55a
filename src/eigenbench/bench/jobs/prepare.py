"""Bring the fetched files of a dataset into memory-mapped form, and say whether it is there."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from eigenbench.bench.jobs.supervision import failure
from eigenbench.bench.records.sealed_json import read_sealed
from eigenbench.datasets.catalogue import Catalogue
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.preparing import prepare as prepare_arrays

logger = logging.getLogger(__name__)


def prepare(name: str, data_dir: Path, catalogue: Catalogue, *, progress: bool) -> dict[str, Any]:
    """Prepare a dataset that was downloaded.

    Returns
    -------
    dict
        The state of the dataset: ``status`` (``not_run`` when it could not be downloaded, ``failed`` for
        files that are not what the catalogue says), ``failure``, and the ``card``, or None.
    """
    downloaded = read_sealed(data_dir / "raw" / f"{name}.json")
    state = {"dataset": name, "status": downloaded["status"], "failure": downloaded["failure"], "card": None}
    (data_dir / "prepared" / name).mkdir(parents=True, exist_ok=True)
    if state["status"] != "ok":
        return state
    try:
        card = prepare_arrays(name, data_dir=data_dir, catalogue=catalogue, progress=progress)
    except MalformedData as error:
        logger.error("%s", error)
        reason = failure("prepare", type(error).__name__, str(error), None)
        return state | {"status": "failed", "failure": reason}
    return state | {"card": card.model_dump(mode="json")}
