"""Fetch the files of a dataset; one that no source gives is reported, and only its own runs are skipped."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from eigenbench.bench.jobs.supervision import failure
from eigenbench.datasets.catalogue import Catalogue
from eigenbench.datasets.errors import DatasetUnavailable
from eigenbench.datasets.fetching import fetch

logger = logging.getLogger(__name__)


def download(name: str, data_dir: Path, catalogue: Catalogue, *, progress: bool) -> dict[str, Any]:
    """Fetch the files of a catalogue entry into ``data_dir``.

    Returns
    -------
    dict
        ``status`` is ``ok``, or ``not_run`` with the ``failure`` when no source can be reached.
    """
    try:
        manifest = fetch(name, data_dir=data_dir, catalogue=catalogue, progress=progress)
    except DatasetUnavailable as error:
        logger.warning("%s", error)
        reason = failure("download", "DatasetUnavailable", str(error), None)
        return {"dataset": name, "status": "not_run", "failure": reason, "fetched": []}
    files = [file.model_dump(mode="json") for file in manifest.files]
    return {"dataset": name, "status": "ok", "failure": None, "fetched": files}
