"""ARFF, Weka's format of tables: header and rows, multilabel files of Mulan, and hierarchies of labels.

Parsed here because SciPy reads neither sparse rows nor texts, and no library knows hierarchical classes.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows, indicator

NUMERIC = ("numeric", "real", "integer")
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)

_QUOTED = r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\""
_ATTRIBUTE = re.compile(rf"@attribute\s+(?:{_QUOTED}|([^\s{{'\"][^\s{{]*))\s*(\{{.*|\S.*)", re.IGNORECASE)
_CELL = re.compile(rf"[^\S\t]*(?:{_QUOTED}|([^,\t'\"]*))[^\S\t]*([,\t]|$)")
_PAIR = re.compile(rf"\s*(\d{{1,9}})\s+(?:{_QUOTED}|([^,'\"]+))\s*(,|$)", re.ASCII)
_LISTED = re.compile(r"\{(.*)\}\s*(?:\{[^{}]*\})?")
_WEIGHT = re.compile(r"[,\t]\s*\{[^{},]*\}$")
_ESCAPED = re.compile(r"\\(.)")

_ROOT = "root"
_HIERARCHY = "hierarchical"

_REMEDY = "correct the file, or fetch the dataset again"


class ArffAttribute(NamedTuple):
    """A declared column: its name, the first word of its type in small letters, or "nominal", and the rest.

    ``detail`` is the format of a date or the class hierarchy; ``values`` are a nominal attribute's.
    """

    name: str
    kind: str
    detail: str = ""
    values: tuple[str | None, ...] = ()


def open_arff(
    path: Path, text: Iterable[str], kinds: tuple[str, ...]
) -> tuple[list[ArffAttribute], Iterator[tuple[int, str]]]:
    """Return the attributes, numeric or of ``kinds``, and the rows as numbered lines without comments."""
    stripped = ((number, line.strip()) for number, line in enumerate(text, start=1))
    lines = ((number, line) for number, line in stripped if line and not line.startswith("%"))
    attributes: list[ArffAttribute] = []
    for number, line in lines:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            return attributes, lines
        if keyword != "@relation":
            attributes.append(_attribute(path, number, line, kinds))
    raise MalformedData(path.name, "end of file", "no @data line", _REMEDY)


def _attribute(path: Path, number: int, line: str, kinds: tuple[str, ...]) -> ArffAttribute:
    if match := _ATTRIBUTE.fullmatch(line):
        name, declared = _plain(match.groups()[:3]).strip(), match[4]
        kind, detail = (*declared.split(maxsplit=1), "")[:2]
        if "nominal" in kinds and (listed := _LISTED.fullmatch(declared)):
            values = tuple(cell for _, cell in _cells(path, number, listed[1], _CELL))
            return ArffAttribute(name, "nominal", values=values)
        if kind.lower() in (*NUMERIC, *kinds):
            return ArffAttribute(name, kind.lower(), detail.strip())
    raise _wrong(path, number, f"{line[:60]!r} declares no attribute of type numeric, {', '.join(kinds)}")


def dense_cells(path: Path, number: int, line: str, width: int) -> list[str | None]:
    """Return the cells of a row, separated by commas, tabs or, without either, blanks; None for ``?``."""
    if _WEIGHT.search(line):
        raise _wrong(path, number, f"the row has a weight, {line[-20:]!r}, which no method here uses")
    if "'" in line or '"' in line:
        cells = [cell for _, cell in _cells(path, number, line, _CELL)]
    else:
        found = re.split("[,\t]", line) if "," in line or "\t" in line or width == 1 else line.split()
        cells = [None if cell == "?" else cell for cell in map(str.strip, found)]
    if len(cells) != width:
        raise _wrong(path, number, f"{len(cells)} values for {width} attributes")
    return cells


def sparse_cells(path: Path, number: int, line: str, width: int) -> dict[int, str | None]:
    """Return the cells of a row ``{index value, …}`` by index."""
    if not (line.startswith("{") and line.endswith("}")):
        raise _wrong(path, number, f"{line[:60]!r} is not a row {{index value, …}}")
    if _WEIGHT.search(line) and "}" in line[:-1]:
        raise _wrong(path, number, f"the row has a weight, {line[-20:]!r}, which no method here uses")
    inner = line[1:-1].strip()
    pairs = list(_cells(path, number, inner, _PAIR)) if inner else []
    if pairs and (pairs[-1][0] >= width or any(a >= b for (a, _), (b, _) in pairwise(pairs))):
        raise _wrong(path, number, f"indices must ascend up to {width - 1}: {line[:60]!r}")
    return dict(pairs)


def _cells(path: Path, number: int, line: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str | None]]:
    """Yield place and text of the cells of a line; None for a missing one."""
    position, place, last = 0, -1, ","
    while last:
        match = pattern.match(line, position)
        if match is None:
            raise _wrong(path, number, f"{line[position : position + 40]!r} is not one value before a comma")
        *found, last = match.groups()
        place = int(found.pop(0)) if pattern is _PAIR else place + 1
        bare = found[2]
        yield place, None if bare is not None and bare.strip() == "?" else _plain(found).strip()
        position = match.end()


def _plain(found: Iterable[str | None]) -> str:
    """Return the text of a match, without the escapes if it is in quotes."""
    single, double, bare = found
    if bare is not None:
        return bare
    return _ESCAPED.sub(r"\1", single if single is not None else double or "")


def _wrong(path: Path, number: int, problem: str) -> MalformedData:
    return MalformedData(path.name, f"line {number}", problem, _REMEDY)


def read_arff(path: Path, *, n_labels: int) -> RawRows:
    """Read a sparse multilabel file: numeric or 0/1 attributes, labels last, ascending indices in a row."""
    columns, values, ends = array("i"), array("d"), array("q", [0])
    with path.open(encoding="latin-1", newline="\n") as text:
        attributes, lines = open_arff(path, text, ("nominal",))
        width = len(attributes)
        if width <= n_labels:
            raise MalformedData(path.name, "header", f"{width} attributes, of which {n_labels} labels")
        if other := [one.name for one in attributes if one.kind == "nominal" and one.values != ("0", "1")]:
            raise MalformedData(path.name, "header", f"{other[0]!r} is neither numeric nor 0 or 1")
        for number, line in lines:
            cells = sparse_cells(path, number, line, width)
            if not all(cell is not None and NUMBER.fullmatch(cell) for cell in cells.values()):
                raise _wrong(path, number, f"{line[:60]!r} is not a row of numbers")
            columns.extend(cells)
            values.extend(map(float, cells.values()))  # type: ignore[arg-type]
            ends.append(len(columns))
    if len(ends) == 1:
        raise MalformedData(path.name, "end of file", "no rows after @data")
    blocks = (np.asarray(values), np.asarray(columns), np.asarray(ends))
    matrix = csr_array(blocks, shape=(len(ends) - 1, width))
    names = tuple(one.name for one in attributes[width - n_labels :])
    features, labels = matrix[:, : width - n_labels], matrix[:, width - n_labels :]
    with np.errstate(over="ignore"):
        return RawRows(features.astype(np.float32), indicator(path, labels), names)


def read_hmc(*paths: Path) -> RawRows:
    """Read the files of one part, which share a hierarchy.

    The last attribute is ``class hierarchical``, followed by a list of either paths (``01,01/01,…``: a tree,
    whose nodes are the paths) or edges (``parent/child,…`` with ``root``: a directed acyclic graph). The
    class of a row is its nodes, joined by ``@``. Features are one column for a number and one for each value
    of a nominal attribute, with the mean of the part's known values for a missing one (``?``); labels are the
    nodes as the file gives them, without their ancestors.
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
