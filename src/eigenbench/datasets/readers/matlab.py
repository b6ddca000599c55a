"""MATLAB 5 files with one matrix of examples and one of labels.

SciPy reads them in a process of its own: on a damaged file its parser can end with a segmentation fault.
"""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows, integer_labels

_READ = """
import sys, numpy, scipy.io
path, *names = sys.argv[1:]
found = scipy.io.loadmat(path, variable_names=names)
numpy.savez(sys.stdout.buffer, **{"_" + name: found[name] for name in names if name in found})
"""


def read_mat(path: Path, *, features: str, labels: str, image: tuple[int, int] | None = None) -> RawRows:
    """Read two numeric matrices of a MATLAB 5 file: one row per example, and one whole number per example.

    ``image`` is height and width of the images that the rows hold column by column; they are turned to row by
    row. No other variable is touched.
    """
    table, codes = _variables(path, (features, labels))
    if len(table) == 0 or codes.size != len(table):
        raise MalformedData(path.name, labels, f"{codes.size} labels for {len(table)} rows of {features}")
    if image is not None:
        if image[0] * image[1] != table.shape[1]:
            raise MalformedData(
                path.name, features, f"{table.shape[1]} pixels are not {image[0]} x {image[1]}"
            )
        table = table.reshape(-1, image[1], image[0]).transpose(0, 2, 1).reshape(len(table), -1)
    with np.errstate(over="ignore"):
        return RawRows(table.astype(np.float32), integer_labels(path, codes.ravel()))


def _variables(path: Path, names: tuple[str, str]) -> list[np.ndarray]:
    """Return the variables of these names, each a real numeric matrix."""
    reader = subprocess.run(
        [sys.executable, "-P", "-c", _READ, str(path), *names], capture_output=True, check=False
    )
    if reader.returncode != 0:
        said = reader.stderr.decode(errors="replace").strip().splitlines() or ["SciPy's parser broke off"]
        raise MalformedData(path.name, "file", f"not readable as MATLAB 5 data: {said[-1][:200]}")
    found = []
    with np.load(io.BytesIO(reader.stdout), allow_pickle=False) as file:
        for name in names:
            if f"_{name}" not in file.files:
                raise MalformedData(path.name, name, "no such variable")
            try:
                matrix = file[f"_{name}"]
            except ValueError as error:  # of objects: cells, structures and sparse matrices
                raise MalformedData(path.name, name, "not a real numeric matrix") from error
            if matrix.ndim != 2 or matrix.dtype.kind not in "iuf":
                raise MalformedData(path.name, name, "not a real numeric matrix")
            found.append(matrix)
    return found
