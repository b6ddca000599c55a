"""Types of the values in a suite file: names that become folders, seeds, parameters and grids."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field

from eigenbench.bench.registry import NAMES


def _check_folder_name(name: str) -> str:
    if name.casefold() == "search" or name.casefold().startswith("seed-"):
        raise ValueError(f"{name!r} is the name of a folder of results: choose another")
    return name


def _check_folders(named: dict[str, Any]) -> dict[str, Any]:
    """Raise where two names are one folder on file systems that ignore case and trailing dots."""
    seen: dict[str, str] = {}
    for name in named:
        other = seen.setdefault(name.casefold().rstrip("."), name)
        if other != name:
            raise ValueError(f"{other!r} and {name!r} are the same folder on some systems: rename one")
    return named


def check_distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return hashable values as they are, or raise a ValueError that names one given twice."""
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{value!r} is given twice")
        seen.add(value)
    return values


def check_components(value: Any) -> Any:
    """Raise where a component inside a parameter value has parameters that are not a mapping."""
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in NAMES:
        ((name, value),) = value.items()
        if value is not None and not isinstance(value, dict):
            raise ValueError(f"{name}: its parameters must be a mapping, found {value!r:.80}")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_components(item)
    return value


T = TypeVar("T")
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
FolderName = Annotated[Identifier, AfterValidator(_check_folder_name)]
Named = Annotated[dict[FolderName, T], AfterValidator(_check_folders)]
Params = Annotated[dict[str, Any], AfterValidator(check_components)]
Grid = Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], AfterValidator(check_components)]
Seeds = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=2**32)], ...],
    Field(min_length=1, strict=False),
    AfterValidator(check_distinct),
]
Seconds = Annotated[float, Field(gt=0)]
