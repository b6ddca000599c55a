"""The model of a record is the one that the record names, or both are set aside."""

from __future__ import annotations

import hashlib
from pathlib import Path

from eigenbench.bench.records.record import REMEDY, ModelInfo


class UnfitRecord(ValueError):
    """A record that is readable, but cannot be imported."""


def checked_model(path: Path, info: ModelInfo, results_dir: Path) -> Path:
    """Return the file of a record's model; if it is not the one, set record and model aside.

    Raises
    ------
    UnfitRecord
        If the model is missing, cannot be read, or has another SHA-256 than the record says.
    """
    file = results_dir / info.path
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError as error:
        problem = f"its model {file} is missing"
        raise UnfitRecord(f"{path}: {problem}; {_set_aside(path)}") from error
    except OSError as error:
        raise UnfitRecord(
            f"{path}: its model {file} cannot be read ({error.strerror}); make it readable, or "
            f"delete it, and run the same snakemake command again"
        ) from error
    if digest != info.sha256:
        problem = f"its model {file} has SHA-256 {digest}, the record says {info.sha256}"
        raise UnfitRecord(f"{path}: {problem}; {_set_aside(path, file)}")
    return file


def _set_aside(*paths: Path) -> str:
    """Rename files to ``<name>.refused``, so that the workflow makes them again, and say so."""
    try:
        for path in paths:
            path.replace(path.with_name(f"{path.name}.refused"))
    except OSError as error:
        names = " and ".join(map(str, paths))
        return f"{names} cannot be renamed ({error.strerror}): delete what is there, then {REMEDY}"
    names = " and ".join(f"{path}.refused" for path in paths)
    return f"kept as {names}; {REMEDY}"
