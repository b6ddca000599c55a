"""The command ``eigenbench new``: the beginning of a part of one's own, and its test."""

from __future__ import annotations

import keyword
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from eigenbench.atomic_files import replacing_file
from eigenbench.bench.suites.suite_file import RULE_NAMES
from eigenbench.datasets.catalogue import OWN_CATALOGUE, load_catalogue
from eigenbench.datasets.errors import DatasetError

#: A part that can be begun.
Part = Literal["method", "dataset", "suite", "protocol"]


def new(
    kind: Annotated[Part, typer.Argument(help="What to create.")],
    name: Annotated[str, typer.Argument(help="Name: small letters, digits, underscores.")],
    folder: Annotated[Path, typer.Option(help="Folder of the new files.")] = Path(),
) -> None:
    """Write a working method, dataset, suite or protocol of your own, and its test.

    Existing files are not changed, except that a dataset is added to the catalogue.
    """
    for path in write_skeleton(kind, name, folder):
        typer.echo(path)
    if kind == "suite":
        typer.echo(f"Run it with: eigenbench run {folder / name}.yaml", err=True)
    typer.echo("To contribute it to eigenbench: see CONTRIBUTING.md in the repository.", err=True)


def write_skeleton(kind: Part, name: str, folder: Path) -> list[Path]:
    """Write the files of a new part, none of which may be there, and return them: the part, then its test.

    The name is that of a Python module; of a method also ``LikeThis``. The folder is created if need be; a
    dataset is added to the catalogue there. A name that cannot be used, or is taken, is a `DatasetError`.
    """
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    _check_name(kind, name, module, folder)
    names = {"name": module, "cls": "".join(part[:1].upper() + part[1:] for part in name.split("_"))}
    ending = {"dataset": "csv", "suite": "yaml"}.get(kind, "py")
    contents = {
        folder / f"{module}.{ending}": _rendered(f"{kind}.{ending}", names),
        folder / f"test_{module}.py": _rendered(f"test_{kind}.py", names),
    }
    if there := [path for path in contents if path.exists()]:
        raise DatasetError(f"{there[0]} is there already: choose another name, or remove it")
    if kind == "dataset":
        contents[folder / OWN_CATALOGUE] = _extended(folder / OWN_CATALOGUE, module, names)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in contents.items():
        with replacing_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return list(contents)


def _check_name(kind: Part, name: str, module: str, folder: Path) -> None:
    plain = r"[A-Za-z][A-Za-z0-9_]*" if kind == "method" else r"[a-z][a-z0-9_]*"
    if not re.fullmatch(plain, name) or len(name) > 40 or keyword.iskeyword(module):
        raise DatasetError(f"{name!r} is no name: use up to 40 small letters, digits and underscores")
    if kind == "suite" and module in (*RULE_NAMES, Path(OWN_CATALOGUE).stem):
        raise DatasetError(f"{name!r} has a meaning of its own: choose another name")
    is_module = kind in ("method", "protocol") and not (folder / f"{module}.py").exists()
    if is_module and find_spec(module) is not None:
        raise DatasetError(f"a module {module!r} is installed: choose another name")


def _rendered(template: str, names: dict[str, Any]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("eigenbench.own_data"), undefined=StrictUndefined, keep_trailing_newline=True
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
        raise DatasetError(f"{error}: repair it first") from error
    if name in known:
        raise DatasetError(f"{catalogue} has a dataset {name!r} already: choose another name")
    text = catalogue.read_text(encoding="utf-8").rstrip("\n")
    if not re.search(r"^datasets:\s*$", text, re.MULTILINE) or not text.splitlines()[-1].startswith("  "):
        raise DatasetError(
            f"{catalogue} does not end with its datasets, each indented by two blanks: add by hand\n{entry}"
        )
    return f"{text}\n{entry}"
