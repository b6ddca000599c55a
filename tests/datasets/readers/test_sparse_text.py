import io

import numpy as np
import pytest
from damage import damaged, read_bytes, reads_or_complains
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import dump_svmlight_file

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers.sparse_text import read_svmlight, read_vw


def svmlight(path):
    return read_svmlight(path, n_features=5)


def vw(path):
    return read_vw(path, n_features=5, first_index=1)


MATRICES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.just(5)),
    elements=st.sampled_from([0.0, 0.0, 1.0, -2.5, 1e-7]),
)


@given(MATRICES, st.data())
def test_what_scikit_learn_writes_is_read(features, data):
    labels = data.draw(hnp.arrays(np.int64, len(features), elements=st.integers(-3, 1000)))
    text = io.BytesIO()
    dump_svmlight_file(features, labels, text, zero_based=False)
    rows = read_bytes(svmlight, text.getvalue())
    np.testing.assert_array_equal(rows.features.toarray(), features.astype(np.float32))
    np.testing.assert_array_equal(rows.labels, labels)


@given(MATRICES, st.sampled_from([0, 1]))
def test_vw_round_trip(features, first):
    text = "".join(
        f"{i} | " + " ".join(f"{j + first}:{row[j]!r}" for j in np.flatnonzero(row)) + "\n"
        for i, row in enumerate(features.tolist())
    )
    rows = read_bytes(lambda path: read_vw(path, n_features=5, first_index=first), text.encode())
    np.testing.assert_array_equal(rows.features.toarray(), features.astype(np.float32))
    assert rows.labels.tolist() == list(range(len(features)))


def test_vw_indices_in_any_order_and_without_values():
    rows = read_bytes(vw, b"7 | 5:2 1 3:.5\n9 |\n4 | 2\n")
    np.testing.assert_array_equal(rows.features.toarray(), [[1, 0, 0.5, 0, 2], [0] * 5, [0, 1, 0, 0, 0]])
    assert rows.features.has_sorted_indices


@pytest.mark.parametrize("line", [b"1 | 6:1", b"1 | 0:1", b"1 | 3:1 1:2 3:1", b"1 | 2 2"])
def test_a_vw_index_twice_or_out_of_range_is_named(line):
    with pytest.raises(MalformedData, match="indices must differ and be from 1 to 5") as caught:
        read_bytes(vw, b"1 | 1:1\n" + line + b"\n")
    assert "line 2" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"+1 6:1", "indices must ascend from 1 to 5"),
        (b"+1 0:1", "indices must ascend from 1 to 5"),
        (b"+1 2:1 2:1", "indices must ascend"),
        (b"+1 3:1 2:1", "indices must ascend"),
        (b"+1 2:", "is not"),
        (b"+1 2:nan", "is not"),
        (b"+1 2:1_0", "is not"),
        (b"+1 2:1 # comment", "is not"),
        (b"", "is not"),
        (b"1.5 2:1", "label 1.5 is not a whole number"),
    ],
)
def test_the_line_of_the_fault_is_named(line, message):
    with pytest.raises(MalformedData, match=message) as caught:
        read_bytes(svmlight, b"1 1:1\n" + line + b"\n")
    assert "line 2" in str(caught.value) or "row 1" in str(caught.value)


def test_a_long_number_is_refused_in_linear_time():
    with pytest.raises(MalformedData, match="is not"):
        read_bytes(svmlight, b"1 1:" + b"1" * 1_000_000 + b"x\n")


def test_an_empty_file_is_refused():
    with pytest.raises(MalformedData, match="empty"):
        read_bytes(vw, b"")


@given(damaged(b"+1 1:0.5 3:1 \n-1 \n-1 2:1e3 5:-1\n"))
def test_damaged_svmlight_ends_in_malformed_data(data):
    reads_or_complains(svmlight, data)


@given(damaged(b"796 | 1:4 3:4\n12 | 5:1.5 \n"))
def test_damaged_vw_ends_in_malformed_data(data):
    reads_or_complains(vw, data)
