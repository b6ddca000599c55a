"""Command of all jobs, as the workflow's rules call it: ``python -m eigenbench.bench.jobs VERB``."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from eigenbench.bench.jobs.supervision import MachineFaultError, is_watched, log_to
from eigenbench.bench.records.sealed_json import DamagedFileError, write_sealed
from eigenbench.datasets.errors import DatasetError

#: The folder, below that of the data, for the state of a dataset that was downloaded or prepared.
_STATES = {"download": "raw", "prepare": "prepared"}
_FITS = ("train", "measure")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the work of a job, and return its exit status."""
    options = _parser().parse_args(arguments)
    log_to(options.log)
    try:
        _make_dataset(options) if options.verb in _STATES else _fit(options)
    except (DatasetError, MachineFaultError, DamagedFileError, OSError) as error:
        logging.getLogger("eigenbench").error("%s: %s", type(error).__name__, error)
        return 1
    return 0


def _make_dataset(options: argparse.Namespace) -> None:
    from eigenbench.datasets.catalogue import load_catalogue  # fits run without it

    make = getattr(import_module("eigenbench.bench.jobs.data"), options.verb)
    catalogue = load_catalogue(options.catalogue)
    state = make(options.dataset, options.data_dir, catalogue, progress=not is_watched())
    path = options.data_dir / _STATES[options.verb] / f"{options.dataset}.json"
    write_sealed(path, state | {"replaces": options.replaces})


def _fit(options: argparse.Namespace) -> None:
    """Do the work for all methods with one seed before the next."""
    work = import_module(f"eigenbench.bench.jobs.{options.verb}")
    contexts = import_module("eigenbench.bench.jobs.job_context").contexts_of(options)
    for seed in options.seeds:
        for context in contexts:
            work.run(context, seed)


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--data-dir", type=Path, required=True, help="folder of the data")
    common.add_argument("--log", type=Path, required=True, help="also write the log here")
    parser = argparse.ArgumentParser(prog="python -m eigenbench.bench.jobs", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in _STATES:
        add = verbs.add_parser(verb, parents=[common]).add_argument
        add("dataset")
        add("--replaces", default="", help="the state that is replaced")
        add("--catalogue", type=Path, help="the user's own, in place of eigenbench's")
    for verb in _FITS:
        add = verbs.add_parser(verb, parents=[common]).add_argument
        add("--job", required=True, nargs="+", help="a JobSpec as JSON for each method")
        add("--results-dir", type=Path, required=True, help="folder of the results")
        add("--code", default="", help="the hash of the code, for the records")
        add("--replaces", type=json.loads, default={}, help="what the outputs replace, as JSON")
        add("--threads", type=int, default=1)
        add("--attempts-left", type=int, default=0, help="at 0, record a killed fit in place of failing")
        add("--workflow", type=int, help="the process that starts the job, and that it ends with")
        add("--seeds", type=int, nargs="+", default=[0])
    return parser


if __name__ == "__main__":
    sys.exit(main())
