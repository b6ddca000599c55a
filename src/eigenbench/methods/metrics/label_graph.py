"""Agreement of an embedding of labels with a graph of them: nearest neighbours that are siblings."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

_ROWS_AT_ONCE = 1024

#: Codes of Reuters topics.
_TOPIC = re.compile(r"[CEGM](CAT|\d{1,4}|[A-Z]{2,5})")


def parent_matrix(edges: ArrayLike, n_labels: int) -> csr_array:
    """Return the indicator (c, c + 1) of each label's parents; the last column is the root.

    Raises `ValueError` if an edge leads out of the graph.
    """
    children, parents = np.asarray(edges, dtype=np.int64).reshape(-1, 2).T
    if len(children) and not (
        0 <= children.min() <= children.max() < n_labels and 0 <= parents.min() <= parents.max() <= n_labels
    ):
        raise ValueError(f"edges must have children below {n_labels} and parents up to {n_labels}")
    matrix = csr_array((np.ones(len(children)), (children, parents)), shape=(n_labels, n_labels + 1))
    matrix.data[:] = 1
    return matrix


def sibling_fraction(embedding: ArrayLike, parents: csr_array, *, metric: str = "euclidean") -> float:
    """Return the share of labels whose nearest neighbour in the embedding (c, k) is a sibling.

    Siblings have a parent in common; of several nearest neighbours one is taken. 2 c² k flops, in blocks (P.
    Mineiro and N. Karampatziakis, "Fast Label Embeddings via Randomized Linear Algebra", ECML PKDD 2015,
    section 4.3.1).
    """
    embedding = np.asarray(embedding)
    search = NearestNeighbors(n_neighbors=1, algorithm="brute", metric=metric).fit(embedding)
    nearest = search.kneighbors(return_distance=False)[:, 0]
    shared = parents.multiply(parents[nearest]).sum(axis=1)
    return float(np.mean(np.asarray(shared).ravel() > 0))


def most_fraternal_fraction(parents: csr_array) -> float:
    """Return the share of labels that are siblings of the label with most siblings.

    It is the sibling fraction of an embedding where that label is everybody's nearest neighbour.
    """
    n_labels, most = parents.shape[0], 0
    children = parents.T.tocsr()
    for rows in gen_batches(n_labels, _ROWS_AT_ONCE):
        shared = parents[rows] @ children
        siblings = np.diff(shared.indptr) - (shared.diagonal(k=rows.start) > 0)
        most = max(most, int(siblings.max()))
    return most / n_labels


def rcv1_edges(codes: list[str]) -> list[tuple[int, int]]:
    """Return the edges (child, parent) of Reuters' topics, positions in ``codes``; their number is the root.

    A code of a letter and digits is below the code without its last digit, or, with two digits, below the
    top topic of its letter (``C151`` below ``C15`` below ``CCAT``); codes of letters that begin with G are
    below ``GCAT``. A parent that is not among the codes is passed over for its own. Raises `ValueError` if a
    name is no such code; some copies of the data number the topics and do not say which is which.
    """
    if odd := [code for code in codes if not _TOPIC.fullmatch(code)]:
        raise ValueError(
            f"{odd[0]!r} is no code of a Reuters topic such as C151 or GCRIM, so its place is unknown"
        )
    position = {code: number for number, code in enumerate(codes)}
    edges = []
    for number, code in enumerate(codes):
        parent = _topic_above(code)
        while parent is not None and parent not in position:
            parent = _topic_above(parent)
        edges.append((number, len(codes) if parent is None else position[parent]))
    return edges


def _topic_above(code: str) -> str | None:
    if code.endswith("CAT"):
        return None
    if code[1:].isdigit() and len(code) > 3:
        return code[:-1]
    return f"{code[0]}CAT"
