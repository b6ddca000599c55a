"""The common part of the jobs that make a dataset: command line, log and state."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eigenbench.atomic_files import write_json
from eigenbench.bench.jobs.job_log import log_to
from eigenbench.datasets.catalogue import Catalogue, load_catalogue
from eigenbench.datasets.errors import DatasetError


def run_data_job(
    work: Callable[[str, Path, Catalogue], dict[str, Any]],
    stage: str,
    description: str | None,
    arguments: list[str] | None = None,
) -> int:
    """Parse the command line of a job that makes a dataset, do its work, and return its exit status.

    Parameters
    ----------
    work : callable
        Gets the name, the data folder and the catalogue, and returns the state of the dataset.
    stage : {"raw", "prepared"}
        The folder, below that of the data, where the state is written.
    description : str or None
        For ``--help``.
    arguments : list of str, optional
        The command line; by default that of the process.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("dataset")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True, help="also write the log here")
    parser.add_argument("--replaces", default="", help="the state that is replaced")
    parser.add_argument("--catalogue", type=Path, help="the user's own, in place of eigenbench's")
    options = parser.parse_args(arguments)
    log_to(options.log)
    try:
        state = work(options.dataset, options.data_dir, load_catalogue(options.catalogue))
        path = options.data_dir / stage / f"{options.dataset}.json"
        write_json(path, state | {"replaces": options.replaces})
    except (DatasetError, OSError) as error:
        logging.getLogger("eigenbench").error("%s: %s", type(error).__name__, error)
        return 1
    return 0
