"""Arrays in NumPy's npz format: the form in which a user's own data stand beside a suite."""

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.archives import damage_errors
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import Matrix, RawRows, indicator

_REMEDY = "write it again with numpy.savez"

_CSR = ("X_data", "X_indices", "X_indptr", "X_shape")


def read_arrays(path: Path) -> RawRows:
    """Read an npz file; pickled arrays are refused.

    It holds ``X`` of shape (n, d), or of more dimensions, which become one; or ``X_data``, ``X_indices``,
    ``X_indptr`` and ``X_shape`` of a CSR array; ``y`` of shape (n,), whole numbers or texts of classes,
    floats of a regression, or of shape (n, c) of 0 and 1 with the names of its columns in ``label_names``;
    and, for grouped folds, ``groups`` of shape (n,), whole numbers.
    """
    features, arrays = load_arrays(path)
    y = arrays["y"]
    n = features.shape[0]
    groups = _whole_numbers(path, _array(path, arrays, "groups", n)) if "groups" in arrays else None
    if y.ndim > 2 or y.dtype.kind not in ("iuUf" if y.ndim == 1 else "biuf"):
        raise MalformedData(path.name, "y", f"{y.dtype} of shape {y.shape}, not numbers, texts or 0/1 rows")
    if y.ndim == 1:
        return RawRows(features, y, groups=groups)
    names = tuple(map(str, arrays["label_names"])) if "label_names" in arrays else None
    return RawRows(features, indicator(path, y), label_names=names, groups=groups)


def _whole_numbers(path: Path, groups: np.ndarray) -> np.ndarray:
    if groups.ndim == 1 and groups.dtype.kind in "iuf" and not (groups % 1).any():  # NaN is true
        return groups.astype(np.int64)
    raise MalformedData(path.name, "groups", f"{groups.dtype} of shape {groups.shape}, not whole numbers")


def load_arrays(path: Path) -> tuple[Matrix, dict[str, np.ndarray]]:
    """Return the features of an npz file, and all its arrays by name, ``y`` of any type among them."""
    try:
        with damage_errors(path.name, "arrays", _REMEDY):
            if not zipfile.is_zipfile(path):  # np.load would take it for a single array or a pickle
                raise ValueError("File is not a zip file")
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            features = _features(arrays)
    except (KeyError, TypeError, MemoryError) as error:  # a header can promise more than the memory
        raise MalformedData(path.name, "arrays", str(error), _REMEDY) from error
    y = _array(path, arrays, "y", features.shape[0])
    if "label_names" in arrays and y.ndim > 1:
        _array(path, arrays, "label_names", y.shape[1], "columns of y")
    return features, arrays


def _features(arrays: Mapping[str, np.ndarray]) -> Matrix:
    if "X" not in arrays:
        if absent := [name for name in _CSR if name not in arrays]:
            held = ", ".join(map(repr, arrays)) or "nothing"
            raise ValueError(f"neither 'X' nor {absent[0]!r} is among {held}")
        data, indices, indptr, shape = (arrays[name] for name in _CSR)
        lengths = tuple(int(length) for length in shape)
        if max(lengths) > np.iinfo(np.int32).max:
            raise ValueError(f"X_shape is {lengths}: more rows or columns than 32 bits can number")
        if data.dtype.kind not in "fiub":
            raise ValueError(f"X_data is of type {data.dtype}, not numbers")
        if {indices.dtype.kind, indptr.dtype.kind} - set("iu"):
            raise ValueError(f"X_indices is {indices.dtype} and X_indptr {indptr.dtype}, not whole numbers")
        matrix = csr_array((data, indices, indptr), shape=lengths)
        matrix.check_format(full_check=True)
        return matrix
    X = arrays["X"]
    if X.ndim < 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"X has shape {X.shape} and type {X.dtype}, not numbers in rows and columns")
    return X.reshape(len(X), math.prod(X.shape[1:]))


def _array(
    path: Path, arrays: Mapping[str, np.ndarray], name: str, n: int, what: str = "rows of X"
) -> np.ndarray:
    found = arrays.get(name)
    if found is None or found.shape[:1] != (n,):
        problem = "missing" if found is None else f"of shape {found.shape}, for {n} {what}"
        raise MalformedData(path.name, name, problem, _REMEDY)
    return found
