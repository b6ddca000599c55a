"""Arrays that Python 2 pickled, with features and labels.

Unpickling runs what a file names: only the three names of plain arrays are allowed, with
stand-ins that take nothing but numbers.
"""

import bz2
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import vstack

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows, indicator


def read_pickled_arrays(*paths: Path) -> RawRows:
    """Read bzip2-compressed pickles of ``{'X': array, 'y': array}``, as old scikit-multilearn ships them."""
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
            content = _ArrayUnpickler(stream, encoding="bytes").load()
    except Exception as error:  # damaged instructions raise whatever their operands lead to
        raise MalformedData(path.name, "pickle", f"{type(error).__name__}: {error}"[:200]) from error
    arrays = content if isinstance(content, dict) else {}
    found = {
        key.decode("latin-1"): item.value
        for key, item in arrays.items()
        if isinstance(key, bytes) and isinstance(item, _PickledArray) and item.value is not None
    }
    if not arrays or len(found) != len(arrays):
        raise MalformedData(path.name, "content", "not a dict of arrays of numbers")
    return found


class _PickledType:
    """Stands for ``numpy.dtype``: the type of plain numbers."""

    def __init__(self, code: bytes, *_: Any) -> None:
        self.value = np.dtype(code.decode("ascii"))
        if self.value.kind not in "iufb":
            raise pickle.UnpicklingError(f"element type {code.decode()!r} is not allowed")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.value = self.value.newbyteorder(state[1].decode("ascii"))


class _PickledArray:
    """Stands for ``numpy.core.multiarray._reconstruct``: an array that has no value before its state."""

    value: np.ndarray | None = None

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, fortran, data = state
        if not isinstance(kind, _PickledType) or min(shape, default=0) < 0:
            raise pickle.UnpicklingError(f"an array of shape {shape} of something else than numbers")
        self.value = np.frombuffer(data, dtype=kind.value).reshape(shape, order="F" if fortran else "C")


#: Stand-ins: NumPy's own types would take any state that a file gives them, pointers among them.
_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _PickledArray,
    ("numpy", "ndarray"): object,
    ("numpy", "dtype"): _PickledType,
}


class _ArrayUnpickler(pickle.Unpickler):
    """An unpickler that knows the names of plain arrays and no other."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in of a name, or refuse it."""
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"the name '{module} {name}' is not allowed")
        return _ALLOWED[module, name]
