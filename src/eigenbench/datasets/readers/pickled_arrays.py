"""Arrays that Python 2 pickled in the text protocol, with features and labels."""

import bz2
from pathlib import Path

import numpy as np
from scipy.sparse import vstack

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.base import Rows, indicator
from eigenbench.datasets.readers.expansion import read_expanded
from eigenbench.datasets.readers.pickle_machine import PickledArray, run_pickle

_BYTES_PER_VALUE = 40
"""A number of 8 bytes, each written as up to 4 characters, and something beside them."""

_SLACK_BYTES = 1 << 20


def read_pickled_arrays(*paths: Path, n_values: int) -> Rows:
    """Read bzip2-compressed pickles of ``{'X': array, 'y': array}``, as old scikit-multilearn ships them.

    Parameters
    ----------
    *paths : Path
        The files, whose rows follow each other.
    n_values : int
        Rows times features and labels that there should be; a file that expands to much more is refused.

    Returns
    -------
    Rows
        float32 features (dense) and a uint8 CSR indicator.

    Raises
    ------
    MalformedData
        Truncated or damaged content, any other object in the pickle, or arrays that don't fit together.
    """
    parts = [_read_part(path, n_values) for path in paths]
    for path, part in zip(paths[1:], parts[1:], strict=True):
        widths = [(one.features.shape[1], one.labels.shape[1]) for one in (part, parts[0])]
        if widths[0] != widths[1]:
            raise MalformedData(path.name, "content", f"{widths[0]} features and labels, others {widths[1]}")
    labels = vstack([part.labels for part in parts], format="csr")
    return Rows(np.concatenate([part.features for part in parts]), labels)


def _read_part(path: Path, n_values: int) -> Rows:
    content = read_arrays(path, n_values * _BYTES_PER_VALUE + _SLACK_BYTES)
    if set(content) != {"X", "y"}:
        raise MalformedData(path.name, "content", f"keys {sorted(content)}, expected X and y")
    features, labels = content["X"], content["y"]
    if features.ndim != 2 or labels.ndim != 2 or len(features) != len(labels) or len(features) == 0:
        raise MalformedData(
            path.name, "content", f"shapes {features.shape} and {labels.shape} don't fit together"
        )
    with np.errstate(over="ignore"):
        return Rows(features.astype(np.float32), indicator(path, labels))


def read_arrays(path: Path, limit: int) -> dict[str, np.ndarray]:
    """Return the dict of arrays of a bzip2-compressed pickle of at most ``limit`` bytes."""
    content = run_pickle(path, read_expanded(path, bz2.open, limit))
    arrays = {key: item.value for key, item in content.items() if isinstance(item, PickledArray)}
    if len(arrays) != len(content) or any(array is None for array in arrays.values()):
        raise MalformedData(path.name, "content", "not a dict of arrays")
    return {key.decode("latin-1"): array for key, array in arrays.items() if array is not None}
