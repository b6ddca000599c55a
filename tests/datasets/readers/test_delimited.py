import numpy as np
import pytest
from damage import damaged, read_bytes, reads_or_complains
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers.delimited import read_table

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
    rows = read_bytes(lambda path: read_table(path, one_hot=True), b"a10, x,P\na2,y ,N\na10,?,P\n")
    assert rows.features.tolist() == [[0, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 1, 1, 0, 0]]
    assert rows.features.dtype == np.float32
    assert rows.labels.tolist() == ["P", "N", "P"]


def test_a_missing_category_is_named():
    with pytest.raises(MalformedData, match="line 2: no value in column f1"):
        read_bytes(lambda path: read_table(path, one_hot=True), b"a,x,P\na, ,N\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"1,2,a\n1,x,b\n", "line 2: .*invalid value 'x'"),
        (b"1,2,a\n1,2,a\n1,b\n", "line 3: .*Expected 3 columns, got 2"),
        (b"1,2,a\n1,2,3,a\n", "line 2: .*Expected 3 columns, got 4"),
        (b"1,2,a\n\n1,2,a\n", "line 2: .*invalid value ''"),
        (b"1,2,a\n1,,a\n", "line 2: .*invalid value ''"),
        (b"1,2,a\n1,2,\n", "line 2: no label"),
        (b"1,2,a\n1,2, \n", "line 2: no label"),
        (b"1,2,a\n1,\xff,a\n", "line 2: .*invalid value"),
        (b"1,2,a\n1,2,\xff\n", "line 2: .*invalid UTF8"),
        (b"a\nb\n", "line 1: no features or no label"),
        (b"\n1,2,a\n", "line 1: no features or no label"),
        (b"", "line 1: no features or no label"),
    ],
)
def test_the_line_of_the_fault_is_named(data, message):
    with pytest.raises(MalformedData, match=message):
        read_bytes(read_table, data)


def test_blanks_around_values_signs_and_line_ends_do_not_matter():
    rows = read_bytes(read_table, b"+1, 2 , a\r\n-3,4e2,b ")
    np.testing.assert_array_equal(rows.features, [[1, 2], [-3, 400]])
    assert rows.labels.tolist() == ["a", "b"]


def test_quotes_are_text():
    assert read_bytes(read_table, b'1,"a\n2,b"\n').labels.tolist() == ['"a', 'b"']


@given(damaged(VALID))
def test_damage_ends_in_malformed_data(data):
    reads_or_complains(read_table, data)
