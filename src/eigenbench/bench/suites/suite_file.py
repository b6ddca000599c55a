"""Suite files, their sources and the configuration, with errors that name file, place and remedy."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Container
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError

from eigenbench.bench.protocols.base import Several
from eigenbench.bench.records.runs import REPORT_FILES
from eigenbench.bench.registry import near_match
from eigenbench.bench.suites.parts import Identifier, SuiteError, SuiteModel
from eigenbench.bench.suites.recipes import load_recipes
from eigenbench.bench.suites.suite import Suite
from eigenbench.datasets.catalogue import OWN_CATALOGUE, Catalogue, load_catalogue, load_with_own
from eigenbench.datasets.plain_yaml import explained, read_yaml
from eigenbench.datasets.project_files import project_folder
from eigenbench.datasets.strict_model import printable

#: The file of BibTeX entries in a folder of suites.
REFERENCES = "references.bib"

#: A file with either is a suite; then a misspelled key is an error.
_KEYS = re.compile(rb"experiment|methods")

#: The names of the workflow's rules, which no suite can have: each suite is a rule, too.
RULE_NAMES = frozenset(
    ("all", "paper", "every_suite", "download", "prepare", "train", "measure", "report", "track")
)


def _with_home(folder: str) -> str:
    found = os.path.expanduser(folder)  # noqa: PTH111 - a relative path with a dot before it keeps it
    if found.startswith("~"):
        raise ValueError(f"there is no home folder {folder.split('/')[0]}: write the whole path")
    return found


#: A path whose ``~`` stands for the user's home.
ConfiguredFolder = Annotated[str, AfterValidator(_with_home)]


class Config(SuiteModel):
    """``config/config.yaml``: what runs when no target is named, and where things go.

    ``suites_dir`` is the folder of suite files, by default ``config/suites`` beside the Snakefile.
    ``max_runtime`` is the time that a cluster job may ask for, in minutes; by default the limit of the SLURM
    partition, if there is one.
    """

    suites: Several[Identifier] = ("quick",)
    suites_dir: ConfiguredFolder | None = None
    data_dir: ConfiguredFolder = "data"
    results_dir: ConfiguredFolder = "results"
    reports_dir: ConfiguredFolder = "reports"
    max_runtime: Annotated[int, Field(ge=1)] | None = None


def suite_files(folder: Path, asked: Container[str] = ()) -> list[Path]:
    """Return the suite files of a folder: those ``asked`` for, and those with experiments or methods."""
    found = sorted(folder.glob("*.yaml"))
    paths = (path for path in found if path.is_file() and path.name != OWN_CATALOGUE)
    return [path for path in paths if path.stem in asked or _KEYS.search(path.read_bytes())]


def load_suite(path: Path, datasets: list[str] | None = None) -> Suite:
    """Read and validate a suite file, whose stem is its name; ``datasets`` are the known names of these.

    A SuiteError names the file, the key and the nearest known word.
    """
    load_recipes()  # a fault in them is one error here, not one of each experiment
    content = read_yaml(path, SuiteError)
    if not isinstance(content, dict):
        raise SuiteError(f"{path}: expected a mapping with the keys title, description, experiments")
    suite: Suite = _validate(Suite, {"name": path.stem, **content}, path)
    if suite.name != path.stem:
        raise SuiteError(f"{path}: name is {suite.name!r}, but the file's name says {path.stem!r}")
    if suite.name in RULE_NAMES:
        raise SuiteError(f"{path}: name: {suite.name!r} is a rule of the workflow: choose another")
    if suite.name.casefold() in (*REPORT_FILES, "receipts"):
        raise SuiteError(f"{path}: name: {suite.name!r} stands in the folder of reports: choose another")
    for name, experiment in suite.experiments.items():
        unknown = [] if datasets is None else [item for item in experiment.datasets if item not in datasets]
        for dataset in unknown:
            hint = near_match(dataset, datasets or [])
            raise SuiteError(f"{path}: experiments.{name}.dataset: unknown dataset {dataset!r}.{hint}")
    return suite


def catalogue_of(suite: Suite) -> Catalogue:
    """Return eigenbench's catalogue together with the user's own beside the suite's file."""
    return load_catalogue() if suite.folder is None else load_with_own(suite.folder)


def validate_config(content: dict[str, Any], path: Path) -> Config:
    """Validate the merged content of ``config/config.yaml``; raises a SuiteError as `load_suite` does."""
    return _validate(Config, content, path)


def _validate(model: type[SuiteModel], content: dict[str, Any], path: Path) -> Any:
    _check_values(content, f"{path}: ")
    try:
        return model.model_validate(content, context={"folder": path.parent})
    except ValidationError as error:
        raise SuiteError(explained(path, error, SuiteModel)) from None


def _check_values(value: Any, place: str) -> None:
    """Raise for a number that is not finite or exceeds 64 bits, and for characters that are not text."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _check_values(key, place)
            _check_values(item, f"{place}{'' if place.endswith(': ') else '.'}{key}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise SuiteError(f"{place}: {value} is not a finite number")
    elif isinstance(value, int) and abs(value) >= 2**63:
        raise SuiteError(f"{place}: a number of {value.bit_length()} bits is too large")
    elif isinstance(value, str) and printable(value) != value:
        raise SuiteError(f"{place}: {value!r:.80} has characters that are not text")


def cited_sources(suite: Suite) -> str:
    """Return the BibTeX entries of a suite's ``sources``, in their order.

    They stand in ``references.bib`` beside the suite's file, or in the one that comes with eigenbench. Raises
    a SuiteError if the suite names no sources, or one that neither file has.
    """
    if not suite.sources:
        raise SuiteError(f"suite {suite.name!r} names no sources: list keys of {REFERENCES} under sources:")
    shipped = project_folder() / "config" / "suites"
    entries: dict[str, str] = {}
    for folder in dict.fromkeys([shipped, suite.folder or shipped]):
        entries |= _entries(folder / REFERENCES)
    for key in suite.sources:
        if key not in entries:
            raise SuiteError(
                f"suite {suite.name!r}: sources: {key!r} is no entry of {REFERENCES}."
                f"{near_match(key, list(entries))}"
            )
    return "\n".join(entries[key] for key in suite.sources)


def _entries(path: Path) -> dict[str, str]:
    """Return the entries of a BibTeX file by key; each begins a line with ``@``."""
    if not path.is_file():
        return {}
    parts = re.split(r"^(?=@)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = ((re.match(r"@\w+\{([^,\s]+),", part), part) for part in parts)
    return {match[1]: f"{part.rstrip()}\n" for match, part in found if match}
