import io
from functools import partial

import numpy as np
import pytest
from damage import assert_refused, read_bytes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import dump_svmlight_file

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers.sparse_text import read_lshtc, read_svmlight, read_vw, read_xmc

svmlight = partial(read_svmlight, n_features=5)
vw = partial(read_vw, n_features=5, first_index=1)
VALUES = st.sampled_from([0.0, 0.0, 1.0, -2.5, 1e-7])
MATRICES = hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(5)), elements=VALUES)


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
    rows = read_bytes(partial(vw, first_index=first), text.encode())
    np.testing.assert_array_equal(rows.features.toarray(), features.astype(np.float32))
    assert rows.labels.tolist() == list(range(len(features)))


def test_vw_indices_in_any_order_and_without_values():
    rows = read_bytes(vw, b"7 | 5:2 1 3:.5\n9 |\n4 | 2\n")
    np.testing.assert_array_equal(rows.features.toarray(), [[1, 0, 0.5, 0, 2], [0] * 5, [0, 1, 0, 0, 0]])
    assert rows.features.has_sorted_indices


N_FEATURES, N_LABELS = 5, 4


@st.composite
def rows_of_a_set(draw):
    n = draw(st.integers(1, 6))
    features = draw(hnp.arrays(np.float64, (n, N_FEATURES), elements=VALUES))
    labels = draw(hnp.arrays(np.uint8, (n, N_LABELS), elements=st.integers(0, 1)))
    empty = ~features.any(axis=1) & ~labels.any(axis=1)
    labels[empty, 0] = 1
    return features, labels


def line(features, labels, generator, comma=",", first=0):
    """One row as text, its labels and its pairs in random order."""
    names = [str(label + first) for label in generator.permutation(np.flatnonzero(labels))]
    pairs = [f"{i + first}:{features[i]!r}" for i in generator.permutation(np.flatnonzero(features)).tolist()]
    return f"{comma.join(names)} {' '.join(pairs)}\n"


@given(rows_of_a_set(), st.integers(0, 2**32 - 1))
def test_xmc_round_trip_in_any_order(rows, seed):
    features, labels = rows
    generator = np.random.default_rng(seed)
    text = f"{len(features)} {N_FEATURES} {N_LABELS}\n" + "".join(
        line(x, y, generator) for x, y in zip(features.tolist(), labels, strict=True)
    )
    read = read_bytes(read_xmc, text.encode())
    np.testing.assert_array_equal(read.features.toarray(), features.astype(np.float32))
    np.testing.assert_array_equal(read.labels.toarray(), labels)
    assert (read.features.dtype, read.labels.dtype) == (np.float32, np.uint8)
    assert read.features.has_sorted_indices


@given(rows_of_a_set(), st.integers(0, 2**32 - 1), st.sampled_from(["", "Data\n"]))
def test_lshtc_has_a_column_for_each_number_that_occurs(rows, seed, header):
    features, labels = rows
    labels[:, 0] = 1
    generator = np.random.default_rng(seed)
    text = header + "".join(
        line(x, y, generator, ", ", first=1000) for x, y in zip(features.tolist(), labels, strict=True)
    )
    read = read_bytes(read_lshtc, text.encode())
    used_features, used_labels = features.any(axis=0), labels.any(axis=0)
    np.testing.assert_array_equal(read.features.toarray(), features[:, used_features].astype(np.float32))
    np.testing.assert_array_equal(read.labels.toarray(), labels[:, used_labels])
    assert read.label_names == tuple(str(1000 + label) for label in np.flatnonzero(used_labels))


@pytest.mark.parametrize(
    ("reader", "data", "message"),
    [
        (read_xmc, b"", "line 1"),
        (read_xmc, b"1,2 1:1\n", "line 1.*is not 'rows features labels'"),
        (read_xmc, b"2 5\n", "line 1"),
        (read_xmc, b"-2 5 4\n", "line 1"),
        (read_xmc, b"0 5 4\n", "0 rows"),
        (read_xmc, b"3 5 4\n1 1:1\n2 1:1\n", "2 rows, line 1 says 3"),
        (read_xmc, b"1 5 4\n1 1:1\n2 1:1\n", "line 3: more rows than the 1"),
        (vw, b"", "empty"),
        (read_lshtc, b"Data\n", "no rows"),
        (svmlight, b"1 1:1\n1.5 2:1\n", r"row 1: label 1\.5 is not a whole number"),
        pytest.param(svmlight, b"1 1:" + b"1" * 1_000_000 + b"x\n", "is not", id="in linear time"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(reader, data, message):
    assert_refused(message, reader, data)


#: Of each reader: the lines before the one at fault, and that line by what the message says of it.
FAULTS = {
    vw: (b"1 | 1:1\n", {"indices must differ and be from 1 to 5": "1 | 6:1;1 | 0:1;1 | 3:1 1:2 3:1;1 | 2 2"}),
    svmlight: (
        b"1 1:1\n",
        {
            "indices must ascend from 1 to 5": "+1 6:1;+1 0:1;+1 2:1 2:1;+1 3:1 2:1",
            "is not": "+1 2:;+1 2:nan;+1 2:1_0;+1 2:1 # comment;",
        },
    ),
    read_xmc: (
        b"2 5 4\n1 1:1\n",
        {
            "indices must differ and be from 0 to 4": "0 5:1;0 2:1 2:1",
            "labels must differ and be from 0 to 3": "4 2:1;1,1 2:1",
            "is not": "1,,2 2:1;1, 2 2:1;a 2:1;1 2:;1 2:nan;1 2;1 2:1 x:1;",
        },
    ),
    read_lshtc: (
        b"Data\n3, 5 8:1 18:2\n",
        {"is not": " 1:1", "labels must differ": "7, 7 1:1", "indices must differ": "7 3:1 3:2"},
    ),
}


@pytest.mark.parametrize(
    ("reader", "before", "line", "message"),
    [
        (reader, before, line.encode(), message)
        for reader, (before, lines) in FAULTS.items()
        for message, several in lines.items()
        for line in several.split(";")
    ],
)
def test_the_line_of_the_fault_is_named(reader, before, line, message):
    with pytest.raises(MalformedData, match=message) as caught:
        read_bytes(reader, before + line + b"\n")
    assert f"file, line {1 + before.count(b'%c' % 10)}" in str(caught.value)
