"""Arrays of the user's own in NumPy's npz format."""

import io
import zipfile

import numpy as np
import pytest
from damage import damaged, peak_bytes, read_bytes, reads_or_complains
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.datasets import MalformedData
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


@pytest.mark.parametrize(
    "arrays",
    [
        {"X": np.eye(3)},
        {"y": np.arange(3)},
        {"X": np.eye(3), "y": np.arange(2)},
        {"X": np.eye(3), "y": np.full((3, 2), 2)},
        {"X": np.array(["a", "b"]), "y": np.arange(2)},
        {"X": np.eye(2), "y": np.array([{}, {}], dtype=object)},
        {"X_data": [1.0], "X_indices": [9], "X_indptr": [0, 1], "X_shape": [1, 2], "y": [0]},
        {"X_data": [1.0], "X_indices": [2**40], "X_indptr": [0, 1], "X_shape": [1, 2**41], "y": [0]},
    ],
    ids=[
        "no y",
        "no X",
        "length",
        "no indicator",
        "texts",
        "pickle",
        "index beyond",
        "columns beyond 32 bits",
    ],
)
def test_arrays_that_are_not_rows_and_labels(arrays):
    with pytest.raises(MalformedData):
        read_bytes(read_arrays, npz(**arrays))


@pytest.mark.parametrize("claimed", [None, 2**32 - 2])
def test_a_header_that_promises_more_than_the_file_has_takes_no_memory(claimed):
    data = promising((4 * 10**12,), claimed=claimed)
    with pytest.raises(MalformedData, match="X should have shape"):
        read_bytes(read_arrays, data)

    def read():
        read_bytes(read_arrays, data)

    assert peak_bytes(read) < 2 << 20


@given(
    st.sampled_from([np.savez, np.savez_compressed]).flatmap(
        lambda save: damaged(npz(save, X=np.eye(3), y=np.arange(3)))
    )
)
def test_damage_ends_in_malformed_data(data):
    reads_or_complains(read_arrays, data)
