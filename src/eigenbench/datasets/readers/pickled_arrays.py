"""Arrays that Python 2 pickled, with features and labels.

Unpickling runs what a file names: only the three names of plain arrays are allowed.
"""

import bz2
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import vstack

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows, indicator

#: Names in pickles of Python 2, and the module that has them today.
_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): "numpy._core.multiarray",
    ("numpy", "ndarray"): "numpy",
    ("numpy", "dtype"): "numpy",
}


def read_pickled_arrays(*paths: Path) -> RawRows:
    """Read bzip2-compressed pickles of ``{'X': array, 'y': array}``, as old scikit-multilearn ships them.

    The rows of the files follow each other. Raises `MalformedData` for damaged content, any other object in
    the pickle, or arrays that don't fit together.
    """
    parts = [_read_part(path) for path in paths]
    for path, part in zip(paths[1:], parts[1:], strict=True):
        widths = [(one.features.shape[1], one.labels.shape[1]) for one in (part, parts[0])]
        if widths[0] != widths[1]:
            raise MalformedData(path.name, "content", f"{widths[0]} features and labels, others {widths[1]}")
    labels = vstack([part.labels for part in parts], format="csr")
    return RawRows(np.concatenate([part.features for part in parts]), labels)


def _read_part(path: Path) -> RawRows:
    content = unpickle_arrays(path)
    if set(content) != {"X", "y"}:
        raise MalformedData(path.name, "content", f"keys {sorted(content)}, expected X and y")
    features, labels = content["X"], content["y"]
    if features.ndim != 2 or labels.ndim != 2 or len(features) != len(labels) or len(features) == 0:
        raise MalformedData(
            path.name, "content", f"shapes {features.shape} and {labels.shape} don't fit together"
        )
    with np.errstate(over="ignore"):
        return RawRows(features.astype(np.float32), indicator(path, labels))


def unpickle_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the dict of arrays of numbers of a bzip2-compressed pickle."""
    try:
        with bz2.open(path) as stream:
            content = _ArrayUnpickler(stream, encoding="latin-1").load()
    except Exception as error:  # damaged instructions raise whatever their operands lead to
        raise MalformedData(path.name, "pickle", f"{type(error).__name__}: {error}"[:200]) from error
    arrays = list(content.values()) if isinstance(content, dict) else []
    if not arrays or not all(isinstance(one, np.ndarray) and one.dtype.kind in "iufb" for one in arrays):
        raise MalformedData(path.name, "content", "not a dict of arrays of numbers")
    return content


class _ArrayUnpickler(pickle.Unpickler):
    """An unpickler that knows the names of plain arrays and no other."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a name means, or refuse it."""
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"the name '{module} {name}' is not allowed")
        return super().find_class(_ALLOWED[module, name], name)
