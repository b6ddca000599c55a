from functools import partial

import numpy as np
import pytest
from damage import assert_refused, peak_bytes, read_bytes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenbench.datasets.readers.arff import read_arff, read_hmc

HEADER = """@relation 'two features'
% a comment

@attribute f1 numeric
@ATTRIBUTE 'f 2' {0,1}
@attribute "L one" {0,1}
@attribute L2 {0, 1}

@data
"""


read = partial(read_arff, n_labels=2)


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            hnp.arrays(np.float64, (n, 2), elements=st.sampled_from([0.0, 1.0, -2.5])),
            hnp.arrays(np.float64, (n, 2), elements=st.sampled_from([0.0, 1.0])),
        )
    )
)
def test_round_trip(blocks):
    lines = [
        "{" + ",".join(f"{j} {row[j]!r}" for j in np.flatnonzero(row)) + "}\n"
        for row in np.hstack(blocks).tolist()
    ]
    rows = read_bytes(read, (HEADER + "".join(lines)).encode())
    np.testing.assert_array_equal(rows.features.toarray(), blocks[0])
    np.testing.assert_array_equal(rows.labels.toarray(), blocks[1])
    assert rows.label_names == ("L one", "L2")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{0 1}", "{4 1}", "line 10: indices must ascend up to 3"),
        ("{0 1}", "{1 1,0 1}", "line 10: indices must ascend"),
        ("{0 1}", "{0 x}", "line 10: .* is not a row"),
        ("{0 1}", "{0 1", "line 10: .* is not a row"),
        pytest.param("{0 1}", "{0 " + "1" * 1_000_000 + "x}", "is not a row", id="in linear time"),
        ("{0 1}", "{2 2}", "row 0, label 0: 2.0 is not 0 or 1"),
        ("{0 1}", "", "no rows after @data"),
        ("f1 numeric", "f1 string", "line 4: '@attribute f1 string' declares"),
        ("@data\n{0 1}", "", "no @data line"),
    ],
)
def test_the_place_of_the_fault_is_named(old, new, message):
    assert_refused(message, read, (HEADER + "{0 1}\n").replace(old, new).encode())


def test_many_labels_stay_sparse(tmp_path):
    n_rows, n_labels = 3000, 4000
    attributes = "".join(f"@attribute L{i} {{0,1}}\n" for i in range(n_labels))
    rows = "".join(f"{{0 1,{1 + i} 1}}\n" for i in range(n_rows))
    path = tmp_path / "many.arff"
    path.write_text(f"@relation many\n@attribute a numeric\n{attributes}@data\n{rows}")

    def read_all():
        labels = read_arff(path, n_labels=n_labels).labels
        assert labels.indices.tolist() == list(range(n_rows))

    assert peak_bytes(read_all) < n_rows * n_labels // 2


def test_a_quote_or_backslash_inside_a_bare_name_belongs_to_it():
    text = HEADER.replace("L2", "TAG_m\\'usica") + "{2 1}\n"
    assert read_bytes(read, text.encode()).label_names == ("L one", "TAG_m\\'usica")


def test_an_explicit_zero_is_no_label():
    rows = read_bytes(read, (HEADER + "{2 0,3 1}\n").encode())
    assert rows.labels.toarray().tolist() == [[0, 1]]
    assert rows.labels.nnz == 1


HIERARCHICAL = (
    b"@RELATION 'x'\n\n% a comment\n@ATTRIBUTE a numeric\n@ATTRIBUTE b {w, c}\n@ATTRIBUTE class hierarchical "
)
TREE = HIERARCHICAL + b"01,01/01,01/02,02\n@DATA\n1.5,w,01/01@02\n?,c,01\n-3e1,?,01/02\n"
GRAPH = HIERARCHICAL + b"root/A,root/B,A/C,B/C\n@DATA\n1,w,C\n2,c,A@B\n"


def test_a_tree():
    rows = read_bytes(read_hmc, TREE)
    np.testing.assert_allclose(rows.features, [[1.5, 1, 0], [-14.25, 0, 1], [-30, 0.5, 0.5]])
    assert rows.label_names == ("01", "01/01", "01/02", "02")
    np.testing.assert_array_equal(rows.labels.toarray(), [[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]])
    assert rows.label_edges.tolist() == [[0, 4], [1, 0], [2, 0], [3, 4]]
    assert (rows.features.dtype, rows.labels.dtype) == (np.float32, np.uint8)


def test_files_of_one_part_are_joined_and_share_their_means():
    rows = read_bytes(read_hmc, *(GRAPH.replace(b"2,c", value + b",c") for value in (b"4", b"?")))
    assert rows.features[:, 0].tolist() == [1, 4, 1, 2]


def test_files_of_different_hierarchies_are_refused():
    other = GRAPH.replace(b",B/C", b"")
    assert_refused("file2, header: other attributes than file has", read_hmc, GRAPH, other)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"a numeric", b"a string", "line 4: .*declares no attribute"),
        (b"1,w,C", b"nan,w,C", "line 8: 'nan' is not"),
        (b"1,w,C", b"1,x,C", "line 8: 'x' is not"),
        (b"1,w,C", b"1,w,D", "line 8: 'D' is not"),
        (b"1,w,C", b"1,w", "line 8: 2 values for 3 attributes"),
        (b"1,w,C\n2,c,A@B\n", b"", "no rows after @data"),
        (b"@DATA\n", b"", "declares no attribute"),
        (b"A/C", b"D/C", "'D' has children and no parent"),
        (b"A/C", b"A/root", "'root' has a parent"),
        (b"A/C", b"A/B/C", "neither paths nor edges"),
    ],
)
def test_what_is_wrong_is_named(old, new, message):
    assert_refused(message, read_hmc, GRAPH.replace(old, new))
