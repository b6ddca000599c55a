"""Write the beginning of a method, a dataset, a suite or a protocol into a folder of the user's."""

from __future__ import annotations

import keyword
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from eigenbench.atomic_files import replacing_file
from eigenbench.datasets.catalogue import load_catalogue
from eigenbench.datasets.errors import DatasetError
from eigenbench.datasets.own_catalogue import OWN_CATALOGUE
from eigenbench.own_data.skeletons.kinds import Kind, SkeletonError


def write_skeleton(kind: Kind, name: str, folder: Path) -> list[Path]:
    """Write the files of a new part, none of which may be there.

    Parameters
    ----------
    kind : Kind
        What it is.
    name : str
        Small letters, digits and underscores, as of a Python module; of a method also ``LikeThis``.
    folder : Path
        Where suites, their datasets and their parts lie; created if need be. A dataset is added to the
        catalogue there.

    Returns
    -------
    list of Path
        The files: the part itself first, then its test.

    Raises
    ------
    SkeletonError
        If the name cannot be used, or is taken.
    OSError
        If the folder cannot be written.
    """
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    _check_name(kind, name, module, folder)
    names = {"name": module, "cls": _class_name(name)}
    test = folder / f"test_{module}.py"
    match kind:
        case Kind.DATASET:
            contents = {folder / f"{module}.csv": _rows(), test: _rendered("test_dataset.py", names)}
        case Kind.SUITE:
            contents = {
                folder / f"{module}.yaml": _rendered("suite.yaml", names),
                test: _rendered("test_suite.py", names),
            }
        case _:
            contents = {
                folder / f"{module}.py": _rendered(f"{kind}.py", names),
                test: _rendered(f"test_{kind}.py", names),
            }
    if there := [path for path in contents if path.exists()]:
        raise SkeletonError(f"{there[0]} is there already: choose another name, or remove it")
    if kind is Kind.DATASET:
        contents[folder / OWN_CATALOGUE] = _extended(folder / OWN_CATALOGUE, module, names)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in contents.items():
        with replacing_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return list(contents)


def _check_name(kind: Kind, name: str, module: str, folder: Path) -> None:
    plain = r"[A-Za-z][A-Za-z0-9_]*" if kind is Kind.METHOD else r"[a-z][a-z0-9_]*"
    if not re.fullmatch(plain, name) or len(name) > 40 or keyword.iskeyword(module):
        raise SkeletonError(f"{name!r} is no name: use up to 40 small letters, digits and underscores")
    if kind is Kind.SUITE and module in ("all", "paper", Path(OWN_CATALOGUE).stem):
        raise SkeletonError(f"{name!r} has a meaning of its own: choose another name")
    importable = kind in (Kind.METHOD, Kind.PROTOCOL)
    if importable and not (folder / f"{module}.py").exists() and find_spec(module) is not None:
        raise SkeletonError(f"a module {module!r} is installed: choose another name")


def _class_name(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _rendered(template: str, names: dict[str, Any]) -> str:
    environment = Environment(
        loader=PackageLoader("eigenbench.own_data.skeletons"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template(f"{template}.j2").render(names)


def _extended(catalogue: Path, name: str, names: dict[str, Any]) -> str:
    """Return the text of a catalogue with one more dataset at its end."""
    entry = _rendered("dataset.yaml", names)
    if not catalogue.exists():
        return f"datasets:\n{entry}"
    try:
        known = load_catalogue(catalogue).datasets
    except DatasetError as error:
        raise SkeletonError(f"{error}: repair it first") from error
    if name in known:
        raise SkeletonError(f"{catalogue} has a dataset {name!r} already: choose another name")
    text = catalogue.read_text(encoding="utf-8").rstrip("\n")
    if not re.search(r"^datasets:\s*$", text, re.MULTILINE) or not text.splitlines()[-1].startswith("  "):
        raise SkeletonError(
            f"{catalogue} does not end with its datasets, each indented by two blanks: add by hand\n{entry}"
        )
    return f"{text}\n{entry}"


def _rows() -> str:
    """Return twenty rows of each of three classes, to be replaced by the user's."""
    rng = np.random.RandomState(0)
    rows = [f"{x + k:.3f},{y - k:.3f},{'abc'[k]}" for k in range(3) for x, y in rng.randn(20, 2).round(3)]
    return "\n".join(rows) + "\n"
