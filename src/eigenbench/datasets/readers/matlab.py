"""MATLAB 5 files with one matrix of examples and one of labels."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.base import Rows, integer_labels

_PLAIN_CLASSES = frozenset(
    {"double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}
)


def read_mat(path: Path, *, features: str, labels: str, image: tuple[int, int] | None = None) -> Rows:
    """Read two numeric matrices of a file; no other variable is touched.

    Parameters
    ----------
    path : Path
        A MATLAB 5 file (not the HDF5 one of version 7.3).
    features, labels : str
        Names of the variables: one row per example, and one whole number per example.
    image : pair of int, optional
        Height and width of the images that the rows hold column by column; they are turned to row by row.

    Returns
    -------
    Rows
        float32 features and int64 labels, in the file's order.

    Raises
    ------
    MalformedData
        A damaged file, a variable that is missing or no numeric matrix, or sizes that don't fit together.
    """
    matrices = _load(path, (features, labels))
    table, codes = matrices[features], matrices[labels]
    if len(table) == 0 or codes.size != len(table):
        raise MalformedData(path.name, labels, f"{codes.size} labels for {len(table)} rows of {features}")
    if image is not None:
        if image[0] * image[1] != table.shape[1]:
            raise MalformedData(
                path.name, features, f"{table.shape[1]} pixels are not {image[0]} x {image[1]}"
            )
        table = table.reshape(-1, image[1], image[0]).transpose(0, 2, 1).reshape(len(table), -1)
    with np.errstate(over="ignore"):
        return Rows(table.astype(np.float32), integer_labels(path, codes.ravel()))


def _load(path: Path, names: tuple[str, str]) -> dict[str, np.ndarray]:
    from scipy.io import loadmat, whosmat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kinds = {name: (shape, kind) for name, shape, kind in whosmat(path, appendmat=False)}
            for name in names:
                shape, kind = kinds.get(name, ((), "no such variable"))
                if kind not in _PLAIN_CLASSES or len(shape) != 2:
                    raise MalformedData(path.name, name, f"{kind} of shape {shape}, not a numeric matrix")
            loaded: dict[str, Any] = loadmat(path, appendmat=False, variable_names=names)
    except MalformedData:
        raise
    except Exception as error:  # the parser meets damaged input with whatever its parts raise
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise MalformedData(
            path.name, "file", f"not readable as MATLAB 5 data ({type(error).__name__}: {error})"
        ) from error
    arrays = {name: loaded.get(name) for name in names}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "iuf":
            raise MalformedData(path.name, name, "not a numeric matrix")
    return arrays  # type: ignore[return-value]
