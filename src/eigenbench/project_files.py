"""Where the Snakefile, the configuration, the rules and the profiles are."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def project_folder() -> Path:
    """Return the folder of ``Snakefile``, ``config``, ``workflow`` and ``profiles``.

    A wheel carries them inside the package; in a checkout they lie at its top.
    """
    packaged = _PACKAGE / "_project"
    return packaged if packaged.is_dir() else _PACKAGE.parents[1]
