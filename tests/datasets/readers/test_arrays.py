"""Arrays of the user's own in NumPy's npz format."""

import io
import resource
import zipfile

import numpy as np
import pytest
from damage import assert_refused

from eigenbench.datasets.readers.arrays import read_arrays


def npz(save=np.savez, **arrays):
    content = io.BytesIO()
    save(content, **arrays)
    return content.getvalue()


def promising(shape, dtype="<f8", claimed=None):
    """An npz file whose X has a header of this shape and no values; the archive may claim a size for it."""
    header, content = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("X.npy", header.getvalue())
        if claimed:
            archive.infolist()[0].file_size = claimed
    return content.getvalue()


#: A CSR array of one value.
ONE = {"X_data": [1.0], "X_indptr": [0, 1], "y": [0]}


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"X": np.eye(3)}, "y: missing"),
        ({"y": np.arange(3)}, "neither 'X' nor 'X_data' is among 'y'"),
        ({"X": np.eye(3), "y": np.arange(2)}, "y: of shape .*, for 3 rows of X"),
        ({"X": np.eye(3), "y": np.full((3, 2), 2)}, "2 is not 0 or 1"),
        ({"X": np.array(["a", "b"]), "y": np.arange(2)}, "not numbers in rows and columns"),
        ({"X": np.eye(2), "y": np.array([{}, {}], dtype=object)}, "Object arrays"),
        ({"X": np.eye(2), "y": np.zeros((2, 2, 2))}, r"y: float64 of shape \(2, 2, 2\), not"),
        ({"X": np.eye(2), "y": np.full((2, 2), "1")}, "y: <U1 of shape"),
        ({"X": np.eye(2), "y": [0, 1], "groups": ["a", "b"]}, "groups: .*, not whole numbers"),
        ({"X": np.eye(2), "y": [0, 1], "groups": [0.5, 1]}, "groups: float64 of shape"),
        ({"X": np.eye(2), "y": [0, 1], "groups": np.eye(2)}, "groups: float64 of shape"),
        (ONE | {"X_indices": [0.5], "X_shape": [1, 2]}, "X_indices is float64 .*, not whole numbers"),
        (ONE | {"X_indices": [9], "X_shape": [1, 2]}, "indices must be"),
        (ONE | {"X_indices": [2**40], "X_shape": [1, 2**41]}, "32 bits"),
    ],
)
def test_arrays_that_are_not_rows_and_labels(arrays, problem):
    assert_refused(problem, read_arrays, npz(**arrays))


@pytest.mark.parametrize("claimed", [None, 2**32 - 2])
def test_a_header_that_promises_more_than_the_file_has_takes_no_memory(claimed):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert_refused("arrays: ", read_arrays, promising((4 * 10**12,), claimed=claimed))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
