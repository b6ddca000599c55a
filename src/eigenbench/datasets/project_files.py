"""Paths of the Snakefile, the configuration, the rules and the profiles, and the command that runs them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def project_folder() -> Path:
    """Return the folder of ``Snakefile``, ``config``, ``workflow`` and ``profiles``.

    A wheel carries them inside the package; in a checkout they lie at its top.
    """
    packaged = _PACKAGE / "_project"
    return packaged if packaged.is_dir() else _PACKAGE.parents[1]


def snakemake_command() -> list[str]:
    """Return the command that runs the workflow, in whatever folder it is called."""
    return [sys.executable, "-m", "snakemake", "--snakefile", str(project_folder() / "Snakefile")]


def set_cache_folder() -> None:
    """Give Snakemake a folder for its cache here, and say so, where the user's cannot be written."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        folder = folder.expanduser()
        (folder / "snakemake").mkdir(parents=True, exist_ok=True)
        writable = os.access(folder / "snakemake", os.W_OK)
    except (OSError, RuntimeError):  # there may be no home folder
        writable = False
    if not writable:
        os.environ["XDG_CACHE_HOME"] = str(Path(".snakemake/cache").absolute())
        print(f"{folder} cannot be written: Snakemake's cache is .snakemake/cache", file=sys.stderr)
