import tempfile
from pathlib import Path

import numpy as np
import pytest
from damage import damaged
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers.delimited import read_matrix_and_labels

MATRIX = b"550 0 495 \n0 0 999 \n"
LABELS = b"1\n-1\n"


def read(matrix, labels):
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "matrix", Path(folder) / "labels"
        for path, data in zip(paths, (matrix, labels), strict=True):
            path.write_bytes(data)
        return read_matrix_and_labels(*paths)


def test_lines_that_end_in_a_blank_as_the_published_files_have_them():
    rows = read(MATRIX, LABELS)
    np.testing.assert_array_equal(rows.features, [[550, 0, 495], [0, 0, 999]])
    assert rows.features.dtype == np.float32
    assert rows.labels.tolist() == [1, -1]


@given(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(0, 999))
)
def test_round_trip(matrix):
    text = "".join(" ".join(map(str, row)) + "\n" for row in matrix)
    rows = read(text.encode(), b"1\n" * len(matrix))
    np.testing.assert_array_equal(rows.features, matrix)


@pytest.mark.parametrize(
    ("matrix", "labels", "message"),
    [
        (b"", LABELS, "matrix, line 1: the file or its first line is empty"),
        (MATRIX, b"", "labels, line 1"),
        (b"1 2\n3\n", LABELS, "number of columns changed from 2 to 1 at row 2"),
        (b"1 x\n3 4\n", LABELS, "could not convert string 'x'"),
        (MATRIX, b"1\n", "1 labels for 2 rows"),
        (MATRIX, b"1 1\n-1 1\n", "2 numbers instead of one label"),
        (MATRIX, b"1\n0.5\n", "row 1: label 0.5 is not a whole number"),
    ],
)
def test_the_fault_is_named(matrix, labels, message):
    with pytest.raises(MalformedData, match=message):
        read(matrix, labels)


@given(damaged(MATRIX))
def test_damage_ends_in_malformed_data(matrix):
    try:
        rows = read(matrix, LABELS)
    except MalformedData as error:
        fine = error.file in ("matrix", "labels")
    else:
        fine = len(rows.features) == 2
    assert fine
