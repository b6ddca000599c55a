"""Sparse ARFF as Mulan writes it: numeric or 0/1 attributes, the last ones being the labels.

Parsed here because SciPy reads no sparse ARFF, and liac-arff has had no release since 2020.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.base import Rows, indicator

_ATTRIBUTE = re.compile(
    r"@attribute\s+(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|(\S+))\s+"
    r"(numeric|real|integer|\{\s*0\s*,\s*1\s*\})\s*",
    re.IGNORECASE,
)
_PAIR = r"(\d{1,9})\s+([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
_ROW = re.compile(rf"\{{\s*(?:{_PAIR}\s*(?:,\s*{_PAIR}\s*)*)?\}}", re.ASCII)
_PAIRS = re.compile(_PAIR, re.ASCII)


def read_arff(path: Path, *, n_labels: int) -> Rows:
    """Read a sparse multilabel ARFF file.

    Parameters
    ----------
    path : Path
        The file; ``%`` starts a comment line.
    n_labels : int
        How many of the last attributes are labels.

    Returns
    -------
    Rows
        float32 CSR features, uint8 CSR indicator, label names.

    Raises
    ------
    MalformedData
        An unknown declaration, a row that isn't ``{index value, …}`` with ascending indices in range, or a
        label that isn't 0 or 1, with the line's number.
    """
    with path.open(encoding="latin-1", newline="\n") as text:
        lines = ((number, line.strip()) for number, line in enumerate(text, start=1))
        content = ((number, line) for number, line in lines if line and not line.startswith("%"))
        names = _read_header(path, content)
        if len(names) <= n_labels:
            raise MalformedData(path.name, "header", f"{len(names)} attributes, of which {n_labels} labels")
        matrix = _read_rows(path, content, len(names))
    n_features = len(names) - n_labels
    labels = indicator(path, matrix[:, n_features:])
    return Rows(matrix[:, :n_features].astype(np.float32), labels, tuple(names[n_features:]))


def _read_header(path: Path, content: Iterator[tuple[int, str]]) -> list[str]:
    names: list[str] = []
    for number, line in content:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            return names
        if keyword == "@relation":
            continue
        match = _ATTRIBUTE.fullmatch(line)
        if match is None:
            raise MalformedData(
                path.name, f"line {number}", f"{line[:60]!r} declares no numeric or {{0,1}} attribute"
            )
        names.append(next(name for name in match.groups()[:3] if name is not None))
    raise MalformedData(path.name, "end of file", "no @data line")


def _read_rows(path: Path, content: Iterable[tuple[int, str]], width: int) -> csr_array:
    columns, values, ends = array("i"), array("d"), array("q", [0])
    for number, line in content:
        if _ROW.fullmatch(line) is None:
            raise MalformedData(path.name, f"line {number}", f"{line[:60]!r} is not a row {{index value, …}}")
        pairs = _PAIRS.findall(line)
        row = [int(index) for index, _ in pairs]
        if row and (row[-1] >= width or any(a >= b for a, b in pairwise(row))):
            raise MalformedData(
                path.name, f"line {number}", f"indices must ascend up to {width - 1}: {line[:60]!r}"
            )
        columns.extend(row)
        values.extend(float(value) for _, value in pairs)
        ends.append(len(columns))
    if len(ends) == 1:
        raise MalformedData(path.name, "end of file", "no rows after @data")
    blocks = (np.asarray(values), np.asarray(columns), np.asarray(ends))
    return csr_array(blocks, shape=(len(ends) - 1, width))
