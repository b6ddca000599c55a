"""Jobs of a dataset: fetch its files, and bring them into memory-mapped form.

A dataset that no source gives, or whose files are malformed, is an outcome: only its own runs are skipped.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from eigenbench.bench.jobs.supervision import failure
from eigenbench.bench.records.sealed_json import read_sealed
from eigenbench.datasets.catalogue import Catalogue
from eigenbench.datasets.errors import DatasetUnavailable, MalformedData
from eigenbench.datasets.fetching import fetch
from eigenbench.datasets.preparing import prepare as prepare_arrays

logger = logging.getLogger(__name__)


def download(name: str, data_dir: Path, catalogue: Catalogue, *, progress: bool) -> dict[str, Any]:
    """Fetch the files of a dataset; the status is ``not_run`` where no source can be reached."""
    try:
        manifest = fetch(name, data_dir=data_dir, catalogue=catalogue, progress=progress)
    except DatasetUnavailable as error:
        logger.warning("%s", error)
        reason = failure("download", "DatasetUnavailable", str(error), None)
        return {"dataset": name, "status": "not_run", "failure": reason, "fetched": []}
    files = [file.model_dump(mode="json") for file in manifest.files]
    return {"dataset": name, "status": "ok", "failure": None, "fetched": files}


def prepare(name: str, data_dir: Path, catalogue: Catalogue, *, progress: bool) -> dict[str, Any]:
    """Prepare a dataset that was downloaded; ``failed`` for files that are not what the catalogue says."""
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
