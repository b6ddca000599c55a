import numpy as np
import pytest
from damage import read_bytes

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers.arff import read_hmc

HEADER = (
    b"@RELATION 'x'\n\n% a comment\n@ATTRIBUTE a numeric\n@ATTRIBUTE b {w, c}\n@ATTRIBUTE class hierarchical "
)
TREE = HEADER + b"01,01/01,01/02,02\n@DATA\n1.5,w,01/01@02\n?,c,01\n-3e1,?,01/02\n"
GRAPH = HEADER + b"root/A,root/B,A/C,B/C\n@DATA\n1,w,C\n2,c,A@B\n"


def test_a_tree():
    rows = read_bytes(read_hmc, TREE)
    np.testing.assert_allclose(rows.features, [[1.5, 1, 0], [-14.25, 0, 1], [-30, 0.5, 0.5]])
    assert rows.label_names == ("01", "01/01", "01/02", "02")
    np.testing.assert_array_equal(rows.labels.toarray(), [[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]])
    assert rows.label_edges.tolist() == [[0, 4], [1, 0], [2, 0], [3, 4]]
    assert (rows.features.dtype, rows.labels.dtype) == (np.float32, np.uint8)


def test_a_graph_with_two_parents():
    rows = read_bytes(read_hmc, GRAPH)
    assert rows.label_names == ("A", "B", "C")
    assert rows.label_edges.tolist() == [[0, 3], [1, 3], [2, 0], [2, 1]]
    np.testing.assert_array_equal(rows.labels.toarray(), [[0, 0, 1], [1, 1, 0]])


def test_files_of_one_part_are_joined_and_share_their_means():
    rows = read_bytes(read_hmc, *(GRAPH.replace(b"2,c", value + b",c") for value in (b"4", b"?")))
    assert rows.features[:, 0].tolist() == [1, 4, 1, 2]


def test_files_of_different_hierarchies_are_refused():
    with pytest.raises(MalformedData, match="file2, header: other attributes than file has"):
        read_bytes(read_hmc, GRAPH, GRAPH.replace(b",B/C", b""))


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
    with pytest.raises(MalformedData, match=message):
        read_bytes(read_hmc, GRAPH.replace(old, new))
