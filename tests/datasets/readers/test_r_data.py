import gzip
import lzma
import re
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rdata
from damage import assert_refused, read_bytes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenbench.datasets.readers import r_data
from eigenbench.datasets.readers.r_data import read_r_matrix, read_r_mldr

read_r_frame = partial(r_data.read_r_frame, label="g", part_column="speaker", part="test")


def r_file(**variables):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "variables.rda"
        rdata.write_rda(path, variables, compression=None)
        return path.read_bytes()


def mldr(features, labels, index=None):
    table = pd.DataFrame(np.hstack([features, labels]).astype(float))
    table.columns = [f"a{i}" for i in range(features.shape[1])] + [f"L{i}" for i in range(labels.shape[1])]
    first = features.shape[1] + 1
    numbers = range(first, first + labels.shape[1]) if index is None else index
    return {"name": "toy", "dataset": table, "labels": pd.DataFrame({"index": np.array(numbers, np.int32)})}


FEATURES, LABELS = np.array([[0, 1.5], [2, 0], [0, 0]]), np.array([[1, 0], [0, 1], [1, 1]])
MATRIX = np.array([[3.0, 0.5, -1], [0, 1, 0.25]])


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=5),
        elements=st.integers(-9, 9),
    )
)
def test_matrix_round_trip(matrix):
    rows = read_bytes(read_r_matrix, r_file(zip=matrix))
    np.testing.assert_array_equal(rows.labels, matrix[:, 0])
    np.testing.assert_array_equal(rows.features, matrix[:, 1:])


def test_mldr_round_trip():
    rows = read_bytes(read_r_mldr, r_file(toy=mldr(FEATURES, LABELS)))
    np.testing.assert_array_equal(rows.features.toarray(), FEATURES)
    np.testing.assert_array_equal(rows.labels.toarray(), LABELS)
    assert rows.label_names == ("L0", "L1")


def frame(**changes):
    columns = {
        "x": [1.0, 2.0, 3.0],
        "y": [0.5, 0.25, 0.0],
        "g": pd.Categorical(["b", "a", "b"]),
        "speaker": pd.Categorical(["test.dr1.m", "train.dr1.f", "test.dr2.f"]),
    }
    return pd.DataFrame({name: value for name, value in (columns | changes).items() if value is not None})


def test_rows_of_a_frame_whose_part_is_asked_for():
    rows = read_bytes(read_r_frame, r_file(frames=frame()))
    np.testing.assert_array_equal(rows.features, np.array([[1, 0.5], [3, 0]], np.float32))
    assert rows.labels.tolist() == ["b", "b"]


@pytest.mark.parametrize(
    ("reader", "variables", "message"),
    [
        (read_r_frame, {"a": frame(g=[1.0, 2.0, 3.0])}, "g: no factor of that name"),
        (read_r_frame, {"a": frame(x=None, y=None)}, "not a data frame of numeric columns"),
        (read_r_frame, {"a": frame(g=pd.Categorical(["b", None, "b"]))}, "a missing value"),
        (read_r_matrix, {"a": MATRIX, "b": MATRIX}, "2 variables instead of one"),
        (read_r_matrix, {"a": np.arange(3.0)}, "not a numeric matrix"),
        (read_r_matrix, {"a": "text"}, "not a numeric matrix"),
        (read_r_matrix, {"a": MATRIX + 0.5}, "label 3.5 is not a whole number"),
        (read_r_mldr, {"a": MATRIX}, "should be a named list"),
        (read_r_mldr, {"a": {"dataset": "x"}}, "should be a named list"),
        (read_r_mldr, {"a": mldr(FEATURES, LABELS, index=[3, 9])}, "not consecutive"),
        (read_r_mldr, {"a": mldr(FEATURES, 2 * LABELS)}, "2.0 is not 0 or 1"),
    ],
)
def test_the_fault_is_named(reader, variables, message):
    assert_refused(message, reader, r_file(**variables))


@pytest.mark.parametrize("content", [b"<html>no", b"", b"X\n\x00\x00"])
def test_the_first_bytes_of_another_file_are_shown(content):
    assert_refused("it starts with " + re.escape(repr(content)), read_r_matrix, content)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_compression_is_undone(compress):
    packed = compress(r_file(zip=MATRIX))
    np.testing.assert_array_equal(read_bytes(read_r_matrix, packed).labels, MATRIX[:, 0])
    assert_refused("not readable as R data", read_r_matrix, packed[:-20])
