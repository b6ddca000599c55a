import io
import struct
from functools import partial

import numpy as np
import pytest
from damage import assert_refused, read_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import savemat
from scipy.sparse import csc_array

from eigenbench.datasets.readers.matlab import read_mat

READ = partial(read_mat, features="X", labels="Y")
X = np.arange(12.0).reshape(2, 6)
Y = np.array([[1], [2]], dtype=np.uint8)


def mat(compressed=False, **variables):
    content = io.BytesIO()
    savemat(content, variables, do_compression=compressed)
    return content.getvalue()


@settings(max_examples=5)
@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.uint8, np.int16]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements=st.integers(0, 99),
    ),
    st.booleans(),
)
def test_round_trip(matrix, compressed):
    rows = read_bytes(READ, mat(compressed, X=matrix, Y=np.ones((len(matrix), 1))))
    np.testing.assert_array_equal(rows.features, matrix)
    assert rows.features.dtype == np.float32
    assert rows.labels.dtype == np.int64


def test_images_that_are_stored_column_by_column_are_turned():
    image = np.array([[1, 2, 3], [4, 5, 6]])
    data = mat(X=image.ravel(order="F")[None, :], Y=np.array([[1]]))
    rows = read_bytes(partial(READ, image=(2, 3)), data)
    np.testing.assert_array_equal(rows.features.reshape(2, 3), image)
    assert_refused("6 pixels are not 2 x 2", partial(READ, image=(2, 2)), data)


def test_a_variable_may_have_any_name():
    rows = read_bytes(partial(read_mat, features="file", labels="Y"), mat(file=X, Y=Y))
    np.testing.assert_array_equal(rows.features, X)


def test_other_variables_are_not_touched():
    data = mat(X=X, Y=Y, other=np.array(["text", X], dtype=object))
    assert read_bytes(READ, data).labels.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"X": X}, "Y: no such variable"),
        ({"X": X, "Y": "text"}, "Y: not a real numeric matrix"),
        ({"X": np.array([[X, 1]], dtype=object), "Y": Y}, "X: not a real numeric matrix"),
        ({"X": csc_array(X), "Y": Y}, "X: not a real numeric matrix"),
        ({"X": X + 1j, "Y": Y}, "X: not a real numeric matrix"),
        ({"X": X, "Y": Y[:1]}, "1 labels for 2 rows"),
        ({"X": X, "Y": Y + 0.5}, "label 1.5 is not a whole number"),
    ],
)
def test_the_fault_is_named(variables, message):
    assert_refused(message, READ, mat(**variables))


def test_an_element_type_that_crashes_scipy_is_refused():
    content = bytearray(mat(X=X, Y=Y))
    place = content.index(struct.pack("<II", 9, X.size * 8))
    content[place : place + 4] = struct.pack("<I", 255)
    assert_refused("not readable as MATLAB 5 data: SciPy's parser broke off", READ, content)
