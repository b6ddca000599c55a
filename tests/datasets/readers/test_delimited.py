from functools import partial

import numpy as np
import pytest
from damage import assert_refused, read_bytes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenbench.datasets.readers.delimited import read_matrix_and_labels, read_orange_table, read_table

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
VALID = b"1,2.5,a\n-3,4e2,b\n5,6,a\n"


@given(
    hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=FINITE),
    st.sampled_from(["first", "last"]),
    st.sampled_from([",", ";", "\t"]),
)
def test_round_trip(features, label, delimiter):
    names = [f"c{i}" for i in range(len(features))]
    lines = []
    for name, row in zip(names, features, strict=True):
        numbers = [repr(float(value)) for value in row]
        lines.append(delimiter.join([name, *numbers] if label == "first" else [*numbers, name]) + "\n")
    rows = read_bytes(lambda p: read_table(p, delimiter=delimiter, label=label), "".join(lines).encode())
    np.testing.assert_array_equal(rows.features, features)
    assert rows.labels.tolist() == names


def test_whole_numbered_labels_become_integers():
    rows = read_bytes(read_table, b"0.5,1,3\n0.5,1,-2\n")
    assert rows.labels.dtype == np.int64
    assert rows.labels.tolist() == [3, -2]


def test_categories_become_one_feature_for_each_value():
    one_hot = partial(read_table, one_hot=True)
    rows = read_bytes(one_hot, b"a10, x,P\na2,y ,N\na10,?,P\n")
    assert rows.features.tolist() == [[0, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 1, 1, 0, 0]]
    assert rows.features.dtype == np.float32
    assert rows.labels.tolist() == ["P", "N", "P"]
    assert_refused("line 2: no value in column f1", one_hot, b"a,x,P\na, ,N\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"1,2,a\n1,x,b\n", "line 2: .*invalid value 'x'"),
        (b"1,2,a\n1,2,a\n1,b\n", "line 3: .*Expected 3 columns, got 2"),
        (b"1,2,a\n1,2,3,a\n", "line 2: .*Expected 3 columns, got 4"),
        (b"1,2,a\n\n1,2,a\n", "line 2: .*invalid value ''"),
        (b"1,2,a\n1,2, \n", "line 2: no label"),
        (b"1,2,a\n1,\xff,a\n", "line 2: .*invalid value"),
        (b"1,2,a\n1,2,\xff\n", "line 2: .*invalid UTF8"),
        (b"a\nb\n", "line 1: no features or no label"),
        (b"", "line 1: no features or no label"),
    ],
)
def test_the_line_of_the_fault_is_named(data, message):
    assert_refused(message, read_table, data)


def test_blanks_around_values_signs_and_line_ends_do_not_matter():
    rows = read_bytes(read_table, b"+1, 2 , a\r\n-3,4e2,b ")
    np.testing.assert_array_equal(rows.features, [[1, 2], [-3, 400]])
    assert rows.labels.tolist() == ["a", "b"]


def test_quotes_are_text():
    assert read_bytes(read_table, b'1,"a\n2,b"\n').labels.tolist() == ['"a', 'b"']


MATRIX = b"550 0 495 \n0 0 999 \n"
LABELS = b"1\n-1\n"


read_pair = partial(read_bytes, read_matrix_and_labels)


def test_lines_that_end_in_a_blank_as_the_published_files_have_them():
    rows = read_pair(MATRIX, LABELS)
    np.testing.assert_array_equal(rows.features, [[550, 0, 495], [0, 0, 999]])
    assert rows.features.dtype == np.float32
    assert rows.labels.tolist() == [1, -1]


@given(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(0, 999))
)
def test_matrix_round_trip(matrix):
    text = "".join(" ".join(map(str, row)) + "\n" for row in matrix)
    rows = read_pair(text.encode(), b"1\n" * len(matrix))
    np.testing.assert_array_equal(rows.features, matrix)


@pytest.mark.parametrize(
    ("matrix", "labels", "message"),
    [
        (b"", LABELS, "file, line 1: the file or its first line is empty"),
        (MATRIX, b"", "file2, line 1"),
        (b"1 2\n3\n", LABELS, "number of columns changed from 2 to 1 at row 2"),
        (b"1 x\n3 4\n", LABELS, "could not convert string 'x'"),
        (MATRIX, b"1\n", "1 labels for 2 rows"),
        (MATRIX, b"1 1\n-1 1\n", "2 numbers instead of one label"),
        (MATRIX, b"1\n0.5\n", "row 1: label 0.5 is not a whole number"),
    ],
)
def test_the_fault_of_matrix_or_labels_is_named(matrix, labels, message):
    assert_refused(message, read_matrix_and_labels, matrix, labels)


NUMBERS = (
    b"a\tname\tb\tkind\ncontinuous\tstring\tc\tdiscrete\n\tmeta\t\tclass\n1.5\tx\t?\tup\n-2\ty\t3e1\t down \n"
)
TEXTS = b"kind\twords\nd\tstring\nclass\t\n\nup\tOne two, two\ndown\t\n"
numbers = partial(read_orange_table, label="kind", text=None, n_features=2)
texts = partial(read_orange_table, label="kind", text="words", n_features=50)


def test_continuous_columns_and_labels():
    rows = read_bytes(numbers, NUMBERS)
    np.testing.assert_array_equal(rows.features, np.array([[1.5, np.nan], [-2, 30]], dtype=np.float32))
    assert rows.features.dtype == np.float32
    assert rows.labels.tolist() == ["up", "down"]


def test_the_label_and_columns_beside_the_features_are_left_out():
    header = b"id\tw\tkind\tv\nnumeric\tnumeric\tcontinuous\tc\nmeta  x=1\t\tclass\tignore\n"
    rows = read_bytes(numbers, header + b"1\t5\t0\t7\n2\t6\t1\t8\n")
    assert rows.features.tolist() == [[5], [6]]
    assert rows.labels.tolist() == ["0", "1"]


def test_words_are_counted_in_hashed_columns():
    rows = read_bytes(texts, TEXTS)
    assert rows.features.shape == (2, 50)
    assert sorted(rows.features.toarray()[0])[-3:] == [0, 1, 2]
    assert rows.features.toarray()[1].sum() == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"kind\n", b"sort\n", "line 1: 0 columns 'kind', not one"),
        (b"\tdiscrete", b"", "line 2: 3 types for 4 columns"),
        (b"-2\ty", b"-2", "line 5: 3 values for 4 columns"),
        (b" down ", b" ", "line 5: no 'kind'"),
        (b"3e1", b"3u1", "line 5: .*3u1"),
        (b"x\t", b"\xff\t", "byte 60: not UTF-8"),
        (b"1.5\tx\t?\tup\n-2\ty\t3e1\t down \n", b"", "no rows"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(old, new, message):
    assert_refused(message, numbers, NUMBERS.replace(old, new))
