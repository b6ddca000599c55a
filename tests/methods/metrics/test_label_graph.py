import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.methods.metrics import label_graph
from eigenbench.methods.metrics.label_graph import (
    most_fraternal_fraction,
    parent_matrix,
    rcv1_edges,
    sibling_fraction,
)


@st.composite
def graphs(draw):
    """A directed acyclic graph: parents have higher numbers, the root the highest."""
    n = draw(st.integers(2, 12))
    edges = [(i, draw(st.integers(i + 1, n))) for i in range(n)]
    edges += [(i, draw(st.integers(i + 1, n))) for i in range(n) if draw(st.booleans())]
    return edges, n


def siblings(edges, n):
    """Pairs with a common parent, by the definition."""
    above = [{parent for child, parent in edges if child == i} for i in range(n)]
    return np.array([[i != j and bool(above[i] & above[j]) for j in range(n)] for i in range(n)])


@given(graphs(), st.integers(0, 2**32 - 1), st.sampled_from(["euclidean", "cosine"]))
def test_the_fraction_follows_its_definition(graph, seed, metric):
    edges, n = graph
    embedding = np.random.default_rng(seed).normal(size=(n, 3))
    units = embedding / np.linalg.norm(embedding, axis=1, keepdims=True) if metric == "cosine" else embedding
    distances = np.linalg.norm(units[:, None] - units, axis=2) + np.diag(np.full(n, np.inf))
    expected = np.mean(siblings(edges, n)[np.arange(n), distances.argmin(axis=1)])
    assert sibling_fraction(embedding, parent_matrix(edges, n), metric=metric) == pytest.approx(expected)


@given(graphs())
def test_the_constant_baseline_follows_its_definition(graph):
    edges, n = graph
    expected = siblings(edges, n).sum(axis=1).max() / n
    assert most_fraternal_fraction(parent_matrix(edges, n)) == pytest.approx(expected)


def test_blocks_change_nothing(monkeypatch):
    edges = [(i, 5 + i % 3) for i in range(5)] + [(5, 8), (6, 8), (7, 8)]
    whole = most_fraternal_fraction(parent_matrix(edges, 8))
    monkeypatch.setattr(label_graph, "_ROWS_AT_ONCE", 3)
    assert most_fraternal_fraction(parent_matrix(edges, 8)) == whole == 2 / 8


@pytest.mark.parametrize("edge", [(3, 0), (0, 4), (-1, 0)])
def test_an_edge_out_of_the_graph_is_refused(edge):
    with pytest.raises(ValueError, match="children below 3"):
        parent_matrix([(0, 3), edge], 3)


def test_an_edge_twice_counts_once():
    assert most_fraternal_fraction(parent_matrix([(0, 2), (0, 2), (1, 2)], 2)) == 0.5


def test_topic_codes_spell_their_hierarchy():
    codes = ["CCAT", "C15", "C151", "C1511", "M131", "MCAT", "GCRIM", "GCAT", "E121", "G155"]
    edges = {codes[child]: parent for child, parent in rcv1_edges(codes)}
    names = {code: codes[parent] if parent < len(codes) else "root" for code, parent in edges.items()}
    assert names == {
        "CCAT": "root",
        "C15": "CCAT",
        "C151": "C15",
        "C1511": "C151",
        "M131": "MCAT",
        "MCAT": "root",
        "GCRIM": "GCAT",
        "GCAT": "root",
        "E121": "root",
        "G155": "GCAT",
    }


def test_numbered_topics_are_refused():
    with pytest.raises(ValueError, match=r"'Class2' is no code of a Reuters topic"):
        rcv1_edges(["CCAT", "Class2"])
