"""Fitted pipelines as skops files: readable anywhere, and never unpickled."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import skops.io

from eigenbench.registry import COMPONENTS

#: Types that registered components are made of.
_PARTS = {
    "eigenbench.embeddings.kernel_features.frequencies.Projections",
    "sklearn.multiclass._ConstantPredictor",
}


class ModelFileError(ValueError):
    """A model file is damaged, or holds types that eigenbench does not trust."""


def save_model(path: Path, model: Any) -> None:
    """Write a fitted estimator so that ``path`` is either absent or whole.

    Parameters
    ----------
    path : Path
        The file to write, usually ``*.skops``.
    model : estimator
        Any fitted scikit-learn or eigenbench estimator.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    os.close(handle)
    try:
        skops.io.dump(model, temporary)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_model(path: Path) -> Any:
    """Read an estimator written by `save_model`.

    Only scikit-learn's, NumPy's and SciPy's types that skops trusts, and the registered eigenbench
    components and the parts of components, are built; a file with anything else is refused.

    Raises
    ------
    ModelFileError
        Naming the file and the types that are not trusted, or what is damaged.
    """
    trusted = _PARTS | {
        f"{item.module}.{item.name}" for item in COMPONENTS.values() if item.module.startswith("eigenbench.")
    }
    try:
        unknown = sorted(set(skops.io.get_untrusted_types(file=path)) - trusted)
        if unknown:
            raise ModelFileError(f"{path}: refused, it holds the types {', '.join(unknown)}")
        return skops.io.load(path, trusted=sorted(trusted))
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"{path}: not a readable skops model ({error})") from error
