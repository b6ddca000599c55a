"""The folder of a comparison: the data, a catalogue that names them, and the suite that is run."""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from eigenbench.atomic_files import replacing_file
from eigenbench.bench.jobs.outputs import LOCK, locked
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets.catalogue import OWN_CATALOGUE, load_catalogue
from eigenbench.datasets.plain_yaml import read_yaml, write_yaml
from eigenbench.own_data.compared_methods import HELD_OUT, Methods
from eigenbench.own_data.problem import Problem
from eigenbench.own_data.table import OwnDataError

#: The suite's name, which is that of its file, and its experiments.
SUITE, EXPERIMENT, CURVE = "compare", "methods", "curve"


class Workspace:
    """The folder of a comparison, and the paths in it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.suites = folder / "suites"
        self.suite = self.suites / f"{SUITE}.yaml"
        self.leaderboard = folder / "leaderboard.csv"
        self.curve = folder / "curve.csv"
        self.results = folder / "results"
        self.model = folder / "model.skops"
        self.log = folder / "compare.log"


def checked_workspace(folder: Path) -> Workspace:
    """Return the paths in a folder; one of something else is an `OwnDataError`."""
    workspace = Workspace(folder)
    if "?" in str(folder.absolute()):  # ends the path in the address of an SQLite file
        raise OwnDataError(f"{folder}: MLflow's store takes no path with a question mark: name another --out")
    if folder.exists() and not workspace.suite.exists() and not _is_unfinished(workspace):
        raise OwnDataError(f"{folder} is no folder of a comparison, and not empty: name another with --out")
    return workspace


@contextmanager
def locked_workspace(folder: Path) -> Iterator[None]:
    """Create the folder unless it is there, and keep other comparisons out of it for a block.

    A folder of something else, or one that another comparison works in, is an `OwnDataError`.
    """
    results = checked_workspace(folder).results
    results.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(results))
        except RuntimeError as error:
            raise OwnDataError(str(error)) from error
        yield


def write_workspace(
    folder: Path, problem: Problem, methods: Methods, *, metric: str, seed: int, time_limit: float
) -> Workspace:
    """Write data, catalogue and suite; what is there already and the same stays valid.

    The metric is without ``test_``, the seed chooses a repetition of the folds, ``time_limit`` is in seconds.
    """
    workspace = checked_workspace(folder)
    workspace.suites.mkdir(parents=True, exist_ok=True)
    name = dataset_name(problem.name)
    parts = problem.arrays()
    files: dict[str, bytes] = {}
    for part, arrays in parts.items():
        stream = io.BytesIO()
        np.savez(stream, allow_pickle=False, **arrays)
        files[f"{name}_{part}.npz"] = stream.getvalue()
        _write(workspace.suites / f"{name}_{part}.npz", stream.getvalue())
    rows = {part: len(arrays["y"]) for part, arrays in parts.items()}
    if _write_yaml(workspace.suites / OWN_CATALOGUE, {"datasets": {name: _entry(problem, rows, files)}}):
        records = workspace.results.rglob("record.json")
        for path in (*records, workspace.leaderboard, workspace.curve, workspace.model):
            path.unlink(missing_ok=True)  # of other data or folds
    _write_yaml(workspace.suite, _suite(name, problem, methods, metric, seed, time_limit))
    return workspace


def _is_unfinished(workspace: Workspace) -> bool:
    """Return whether a folder holds no more than an interrupted start leaves."""
    entries = {path.name for path in workspace.folder.glob("*")}
    suites = {path.name for path in workspace.suites.glob("*.yaml")}
    results = {path.name for path in workspace.results.glob("*")}
    known = {workspace.suites.name, workspace.results.name}
    return workspace.folder.is_dir() and entries <= known and suites <= {OWN_CATALOGUE} and results <= {LOCK}


def keep_folds(workspace: Workspace, seeds: Sequence[int]) -> None:
    """Leave only the folds in the suite that an answer stands on, and say so in its title."""
    suite = read_yaml(workspace.suite)
    experiment = suite["experiments"][EXPERIMENT]
    suite["title"] += f", on {len(seeds)} of {len(experiment['seeds'])} folds"
    experiment["seeds"] = list(seeds)
    _write_yaml(workspace.suite, suite)


def add_curve(workspace: Workspace, lines: Mapping[str, tuple[str, str]], sizes: Sequence[int]) -> None:
    """Add the learning curves of some lines, by name (method, classifier): an experiment for each fold."""
    suite = read_yaml(workspace.suite)
    ranked = suite["experiments"][EXPERIMENT]
    methods = {}
    for name, (method, classifier) in lines.items():
        spec = ranked["classifiers"][classifier]
        last = {spec.get("component", classifier): spec.get("params", {})}
        methods[name] = {"steps": [*ranked["methods"][method]["steps"], last]}
    for place, seed in enumerate(ranked["seeds"], 1):  # the seeds of one curve share their test rows
        suite["experiments"][f"{CURVE}_{place}"] = {
            "dataset": ranked["dataset"],
            "seeds": [seed],
            "protocol": "learning_curve",
            "settings": {"train_rows": list(sizes), "test_rows": 10**9, "first_seed": seed},
            "time_limit": 2 * suite["time_limit"],  # all smaller sizes together take as long as the whole
            "methods": methods,
        }
    _write_yaml(workspace.suite, suite)


def check_suite_path(path: Path) -> None:
    """Refuse a path that no suite's file can have."""
    if path.suffix != ".yaml" or path.name == OWN_CATALOGUE:
        raise OwnDataError(f"--suite {path} is not the name of a suite's file, such as mine.yaml")


def copy_suite(workspace: Workspace, path: Path) -> None:
    """Write the suite to a file, and its catalogue and data beside it, so that it runs from there.

    Another catalogue, or other data, beside it is an `OwnDataError`.
    """
    check_suite_path(path)
    with TemporaryDirectory() as folder:
        trial = Path(folder) / path.name
        trial.write_bytes(workspace.suite.read_bytes())
        try:
            load_suite(trial)
        except SuiteError as error:
            raise OwnDataError(f"--suite {path} is not the name of a suite: choose another") from error
    entries = load_catalogue(workspace.suites / OWN_CATALOGUE).datasets.values()
    contents = {path: workspace.suite.read_bytes()}
    for name in (OWN_CATALOGUE, *(file for entry in entries for file in entry.files)):
        beside, content = path.with_name(name), (workspace.suites / name).read_bytes()
        if beside.exists() and beside.read_bytes() != content:
            raise OwnDataError(f"{beside} holds something else: name a --suite in another folder")
        contents[beside] = content
    path.parent.mkdir(parents=True, exist_ok=True)
    for target, content in contents.items():
        _write(target, content)


def dataset_name(text: str) -> str:
    """Return a name for the catalogue, like the file's: small letters, digits and underscores."""
    plain = unicodedata.normalize("NFKD", Path(text).name.partition(".")[0].lower())
    name = re.sub(r"[^a-z0-9]+", "_", plain.encode("ascii", "ignore").decode()).strip("_")[:40]
    return name if re.match("[a-z]", name) else f"data_{name}".rstrip("_")


def _entry(problem: Problem, rows: dict[str, int], files: dict[str, bytes]) -> dict[str, Any]:
    split: dict[str, Any] = {"kind": "official"}
    if problem.n_folds:
        split = {"kind": "folds", "n_folds": problem.n_folds, "grouped": problem.groups is not None}
        split["stratify"] = problem.kind == "multiclass"
    return {
        "title": problem.name,
        "target": problem.kind,
        "sparse": problem.sparse,
        "missing": problem.missing,
        "format": {"reader": "arrays"},
        "parts": {part: [file] for part, file in zip(rows, files, strict=True)},
        "split": split,
        "expect": {"rows": rows, "features": problem.n_features, "classes": problem.n_classes},
        "files": {
            file: {
                "sha256": hashlib.sha256(content).hexdigest(),
                "bytes": len(content),
                "sources": [{"path": file}],
            }
            for file, content in files.items()
        },
    }


def _suite(
    name: str, problem: Problem, methods: Methods, metric: str, seed: int, time_limit: float
) -> dict[str, Any]:
    n_seeds = problem.n_folds or 1
    categorical = problem.encoder.categorical if problem.encoder else []
    first = {"TablePreprocessor": {"categorical": categorical} if categorical else {}}
    experiment = {
        "dataset": name,
        "seeds": list(range(seed * n_seeds, (seed + 1) * n_seeds)),
        "headline": f"test_{metric}",
        "methods": {
            name: method | {"steps": [first, *method["steps"]]} for name, method in methods.methods.items()
        },
        "classifiers": methods.classifiers,
    }
    if problem.kind != "multiclass" or methods.search:
        experiment["validation"] = {"metric": metric} | ({"fraction": HELD_OUT} if methods.search else {})
    title = f"{problem.name}: which embedding helps"
    return {"title": title, "time_limit": float(time_limit), "experiments": {EXPERIMENT: experiment}}


def _write_yaml(path: Path, content: dict[str, Any]) -> bool:
    return _write(path, write_yaml(content).encode())


def _write(path: Path, content: bytes) -> bool:
    """Write a file unless it holds the same; return whether it was written."""
    if path.is_file() and path.read_bytes() == content:
        return False
    with replacing_file(path) as temporary:
        temporary.write_bytes(content)
    return True
