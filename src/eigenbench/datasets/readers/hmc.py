"""ARFF of hierarchical multilabel data: numbers, then a class that is a set of nodes of a label graph."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.arff import NUMBER, ArffAttribute, dense_cells, open_arff
from eigenbench.datasets.readers.raw_rows import RawRows

_ROOT = "root"
_HIERARCHY = "hierarchical"


def read_hmc(*paths: Path) -> RawRows:
    """Read the files of one part, which share a hierarchy.

    The last attribute is ``class hierarchical``, followed by a list of either paths (``01,01/01,…``: a tree,
    whose nodes are the paths) or edges (``parent/child,…`` with ``root``: a directed acyclic graph). Other
    attributes are numeric or nominal; ``?`` is a missing value. The class of a row is its nodes, joined by
    ``@``.

    Features are one column for a number and one for each value of a nominal attribute, with the mean of the
    part's known values for a missing one; labels are the nodes as the file gives them, without their
    ancestors. Raises `MalformedData` with the line's number for another kind of attribute, a hierarchy that
    isn't one or differs between the files, a row with a value that is no number or not declared, or no rows.
    """
    rows: list[list[float]] = []
    labels: list[list[int]] = []
    declared: list[ArffAttribute] = []
    for path in paths:
        with path.open(encoding="latin-1", newline="\n") as text:
            attributes, lines = open_arff(path, text, ("nominal", _HIERARCHY))
            if not declared:
                declared = attributes
                if [one.kind == _HIERARCHY for one in attributes] != [False] * (len(attributes) - 1) + [True]:
                    raise MalformedData(
                        path.name, "header", "the last attribute, and no other, is hierarchical"
                    )
                nodes, edges = _graph(path, attributes[-1].detail)
            if attributes != declared:
                raise MalformedData(path.name, "header", f"other attributes than {paths[0].name} has")
            for number, line in lines:
                *values, classes = dense_cells(path, number, line, len(declared))
                try:
                    pairs = zip(values, declared, strict=False)
                    rows.append([entry for pair in pairs for entry in _entries(*pair)])
                    labels.append(sorted({nodes[name] for name in (classes or "?").split("@")}))
                except (KeyError, ValueError) as error:
                    problem = f"{error.args[0]!r} is not a number or a declared value or node"
                    raise MalformedData(path.name, f"line {number}", problem) from error
        if not rows:
            raise MalformedData(path.name, "end of file", "no rows after @data")
    ends = np.cumsum([0, *map(len, labels)])
    columns = np.array([node for row in labels for node in row], dtype=np.int32)
    indicator = csr_array((np.ones(len(columns), np.uint8), columns, ends), shape=(len(labels), len(nodes)))
    return RawRows(_without_gaps(np.array(rows)), indicator, tuple(nodes), edges)


def _graph(path: Path, hierarchy: str) -> tuple[dict[str, int], np.ndarray]:
    """Return the nodes as they appear, and the edges (child, parent); the root has the last number."""
    terms = hierarchy.split(",")
    if any(term.startswith(f"{_ROOT}/") for term in terms):
        pairs = [tuple(term.split("/")) for term in terms]
    else:
        pairs = [(term.rpartition("/")[0] or _ROOT, term) for term in terms]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise MalformedData(path.name, "class", "a hierarchy of neither paths nor edges 'parent/child'")
    nodes = {name: number for number, name in enumerate(dict.fromkeys(child for _, child in pairs))}
    unknown = [parent for parent, _ in pairs if parent != _ROOT and parent not in nodes]
    if unknown or _ROOT in nodes:
        problem = f"{unknown[0]!r} has children and no parent" if unknown else f"{_ROOT!r} has a parent"
        raise MalformedData(path.name, "class", problem)
    numbers = nodes | {_ROOT: len(nodes)}
    return nodes, np.array([(numbers[child], numbers[parent]) for parent, child in pairs], dtype=np.int32)


def _entries(value: str | None, attribute: ArffAttribute) -> list[float]:
    """Return the columns of one value."""
    if value is None:
        return [np.nan] * max(1, len(attribute.values))
    if value not in attribute.values if attribute.values else not NUMBER.fullmatch(value):
        raise ValueError(value)
    return [float(value == other) for other in attribute.values] or [float(value)]


def _without_gaps(features: np.ndarray) -> np.ndarray:
    """Return float32 features with column means in place of NaN, 0 for a column without known values."""
    known = ~np.isnan(features)
    counts = np.maximum(known.sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.where(known, features, 0.0).sum(axis=0) / counts
        return np.where(known, features, means).astype(np.float32)
