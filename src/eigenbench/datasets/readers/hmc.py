"""ARFF of hierarchical multilabel data: numbers, then a class that is a set of nodes of a label graph.

Parsed here because no library knows the attribute type ``hierarchical``.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.base import Rows

_ATTRIBUTE = re.compile(r"@attribute\s+\S+\s+(?:numeric|real|integer|\{([^{}]+)\})\s*", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_CLASS = re.compile(r"@attribute\s+class\s+hierarchical\s+([\w/.,-]+)\s*", re.IGNORECASE | re.ASCII)
_ROOT = "root"
_Attribute = tuple[str, ...]
"""The values of a nominal attribute, none for a numeric one."""


def read_hmc(*paths: Path) -> Rows:
    """Read the files of one part, which share a hierarchy.

    Parameters
    ----------
    *paths : Path
        ARFF whose last attribute is ``class hierarchical``, followed by a list of either paths
        (``01,01/01,…``: a tree, whose nodes are the paths) or edges (``parent/child,…`` with ``root``: a
        directed acyclic graph). Other attributes are numeric or nominal; ``?`` is a missing value. The class
        of a row is its nodes, joined by ``@``.

    Returns
    -------
    Rows
        float32 features, one column for a number and one for each value of a nominal attribute, with the
        mean of the part's known values for a missing one; uint8 CSR indicator of the nodes as the file gives
        them, without their ancestors; the nodes' names; ``label_edges``.

    Raises
    ------
    MalformedData
        Another kind of attribute, a hierarchy that isn't one or differs between the files, a row with a value
        that is no number or not declared, or no rows; with the line's number.
    """
    tables: list[np.ndarray] = []
    labels: list[list[int]] = []
    declared: tuple[list[_Attribute], str] | None = None
    nodes: dict[str, int] = {}
    for path in paths:
        with path.open(encoding="latin-1", newline="\n") as text:
            content = ((number, line.strip()) for number, line in enumerate(text, start=1))
            lines = ((number, line) for number, line in content if line and not line.startswith("%"))
            header = _read_header(path, lines)
            if declared is None:
                declared = header
                nodes, edges = _graph(path, header[1])
            if header != declared:
                raise MalformedData(path.name, "header", f"other attributes than {paths[0].name} has")
            tables.append(_read_rows(path, lines, header[0], nodes, labels))
    features = np.concatenate(tables)
    ends = np.cumsum([0, *map(len, labels)])
    columns = np.array([node for row in labels for node in row], dtype=np.int32)
    indicator = csr_array((np.ones(len(columns), np.uint8), columns, ends), shape=(len(labels), len(nodes)))
    return Rows(_without_gaps(features), indicator, tuple(nodes), edges)


def _read_header(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[list[_Attribute], str]:
    """Return the attributes and the declared hierarchy; leave the lines at the first row."""
    attributes: list[_Attribute] = []
    hierarchy = None
    for number, line in lines:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data" and hierarchy is not None and attributes:
            return attributes, hierarchy
        if keyword == "@relation":
            continue
        found = _CLASS.fullmatch(line)
        if hierarchy is None and found is not None:
            hierarchy = found[1]
        elif hierarchy is None and (plain := _ATTRIBUTE.fullmatch(line)):
            attributes.append(tuple(value.strip() for value in plain[1].split(",")) if plain[1] else ())
        else:
            problem = f"{line[:60]!r} is neither a plain attribute nor, at their end, the hierarchical class"
            raise MalformedData(path.name, f"line {number}", problem)
    raise MalformedData(path.name, "end of file", "no @data line")


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


def _read_rows(
    path: Path,
    lines: Iterator[tuple[int, str]],
    attributes: list[_Attribute],
    nodes: dict[str, int],
    labels: list[list[int]],
) -> np.ndarray:
    """Return the features, NaN where they are missing; the nodes of the rows go to ``labels``."""
    rows = []
    for number, line in lines:
        *values, classes = [value.strip() for value in line.split(",")]
        if len(values) != len(attributes):
            problem = f"{len(values)} values instead of {len(attributes)}"
            raise MalformedData(path.name, f"line {number}", problem)
        try:
            rows.append([entry for pair in zip(values, attributes, strict=True) for entry in _entries(*pair)])
            labels.append(sorted({nodes[name] for name in classes.split("@")}))
        except (KeyError, ValueError) as error:
            problem = f"{error.args[0]!r} is not a number or a declared value or node"
            raise MalformedData(path.name, f"line {number}", problem) from error
    if not rows:
        raise MalformedData(path.name, "end of file", "no rows after @data")
    return np.array(rows)


def _entries(value: str, attribute: _Attribute) -> list[float]:
    """Return the columns of one value."""
    if value == "?":
        return [np.nan] * max(1, len(attribute))
    if value not in attribute if attribute else not _NUMBER.fullmatch(value):
        raise ValueError(value)
    return [float(value == other) for other in attribute] if attribute else [float(value)]


def _without_gaps(features: np.ndarray) -> np.ndarray:
    """Return float32 features with column means in place of NaN, 0 for a column without known values."""
    known = ~np.isnan(features)
    counts = np.maximum(known.sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.where(known, features, 0.0).sum(axis=0) / counts
        return np.where(known, features, means).astype(np.float32)
