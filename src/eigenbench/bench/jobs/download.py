"""Fetch the files of a dataset; one that no source gives is reported, and only its own runs are skipped."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from eigenbench.atomic_files import write_json
from eigenbench.bench.jobs.job_log import is_watched, log_to
from eigenbench.bench.jobs.supervision import failure
from eigenbench.datasets.catalogue import Catalogue, load_catalogue
from eigenbench.datasets.errors import DatasetError, DatasetUnavailable
from eigenbench.datasets.fetching import fetch

logger = logging.getLogger(__name__)


def download(name: str, data_dir: Path, catalogue: Catalogue | None = None) -> dict[str, Any]:
    """Fetch the files of a catalogue entry into ``data_dir``.

    Returns
    -------
    dict
        ``status`` is ``ok``, or ``not_run`` with the ``failure`` when no source can be reached.
    """
    try:
        manifest = fetch(name, data_dir=data_dir, catalogue=catalogue, progress=not is_watched())
    except DatasetUnavailable as error:
        logger.warning("%s", error)
        reason = failure("download", "DatasetUnavailable", str(error), None)
        return {"dataset": name, "status": "not_run", "failure": reason, "files": []}
    files = [file.model_dump(mode="json") for file in manifest.files]
    return {"dataset": name, "status": "ok", "failure": None, "files": files}


def main(arguments: list[str] | None = None) -> int:
    """Run the job and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True, help="also write the log here")
    parser.add_argument("--catalogue", type=Path, help="the user's own, in place of eigenbench's")
    options = parser.parse_args(arguments)
    log_to(options.log)
    try:
        outcome = download(options.dataset, options.data_dir, load_catalogue(options.catalogue))
        write_json(options.data_dir / "raw" / f"{options.dataset}.json", outcome)
    except (DatasetError, OSError) as error:
        logger.error("%s: %s", type(error).__name__, error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
