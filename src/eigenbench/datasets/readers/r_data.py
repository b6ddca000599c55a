"""R's binary data files: a labelled matrix, a data frame with factors, or a multilabel ``mldr`` object."""

import bz2
import gzip
import lzma
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows, indicator, integer_labels, read_expanded

_OPENERS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_MAGIC = (b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n")

_BYTES_PER_VALUE = 16
"""Twice those of a number, for what is beside the dataset: names, row names, statistics of the labels."""

_SLACK_BYTES = 1 << 20


def read_r_matrix(path: Path, *, n_values: int) -> RawRows:
    """Read the only object of an ``.RData`` file, a numeric matrix with the class label in its first column.

    ``n_values`` is the number of its values, rows times columns; a file that expands to much more is refused.
    Raises `MalformedData` where the file is damaged or holds something else.
    """
    matrix = _only_object(path, n_values)
    shape = _attributes(matrix).get(b"dim")
    values = matrix.value
    if shape is None or not _is_numeric(matrix) or not _is_numeric(shape) or len(shape.value) != 2:
        raise MalformedData(path.name, "object", "not a numeric matrix")
    n_rows, n_columns = (int(size) for size in shape.value)
    if n_rows < 1 or n_columns < 2 or n_rows * n_columns != len(values):
        raise MalformedData(path.name, "object", f"{len(values)} values for a matrix {n_rows} x {n_columns}")
    table = values.reshape((n_rows, n_columns), order="F")
    with np.errstate(over="ignore"):
        return RawRows(table[:, 1:].astype(np.float32), integer_labels(path, table[:, 0]))


def read_r_frame(path: Path, *, label: str, part_column: str, part: str, n_values: int) -> RawRows:
    """Read those rows of the only object of a file, a data frame, that belong to a part.

    All columns but two are numeric: the factor ``label`` is the class, the levels of ``part_column`` begin
    with the name of a part and a dot. ``n_values`` and errors are those of `read_r_matrix`.
    """
    columns = _named_items(path, _only_object(path, n_values))
    labels = _factor(path, columns.pop(label.encode(), None), label)
    parts = _factor(path, columns.pop(part_column.encode(), None), part_column)
    vectors = [column.value for column in columns.values() if _is_numeric(column)]
    if not vectors or len(vectors) < len(columns) or {len(v) for v in (*vectors, parts)} != {len(labels)}:
        raise MalformedData(path.name, "object", "not a data frame of numeric columns of one length")
    chosen = np.char.startswith(parts, f"{part}.")
    with np.errstate(over="ignore"):
        features = np.column_stack(vectors)[chosen].astype(np.float32)
    return RawRows(features, labels[chosen])


def _factor(path: Path, item: Any, name: str) -> np.ndarray:
    """Return the levels of a factor, one a row."""
    levels = None if item is None else _attributes(item).get(b"levels")
    if levels is None or not _is_numeric(item) or levels.info.type.name != "STR":
        raise MalformedData(path.name, name, "no factor of that name")
    texts = [level.value for level in levels.value]
    codes = np.asarray(item.value)
    if not all(isinstance(text, bytes) for text in texts) or not ((codes >= 1) & (codes <= len(texts))).all():
        raise MalformedData(path.name, name, "a missing value, or one that is no level")
    return np.array([text.decode("latin-1") for text in texts])[codes.astype(np.intp) - 1]


def read_r_mldr(path: Path, *, n_values: int) -> RawRows:
    """Read the only object of an ``.rda`` file, an ``mldr`` list as R's multilabel packages write it.

    Its list has the items ``dataset``, a data frame with one numeric column per attribute, and ``labels``, a
    data frame whose column ``index`` numbers the label attributes from 1. ``n_values`` and errors are those
    of `read_r_matrix`. The file is dense: parsing needs memory for three times rows x attributes x 8 bytes.
    """
    mldr = _named_items(path, _only_object(path, n_values))
    columns = _named_items(path, mldr.get(b"dataset"))
    index = _named_items(path, mldr.get(b"labels")).get(b"index")
    if index is None or not _is_numeric(index) or not columns or not all(map(_is_numeric, columns.values())):
        raise MalformedData(path.name, "object", "not an mldr list with numeric columns and label numbers")
    numbers = integer_labels(path, index.value) - 1
    if not len(numbers) or (np.diff(numbers) != 1).any() or numbers[0] < 1 or numbers[-1] >= len(columns):
        raise MalformedData(
            path.name, "labels", "the labels are not consecutive attributes after the features"
        )
    names = list(columns)
    vectors = [columns[name].value for name in names]
    if len({len(vector) for vector in vectors}) != 1 or len(vectors[0]) == 0:
        raise MalformedData(path.name, "dataset", "columns of different lengths, or empty ones")
    n_features = int(numbers[0])
    return RawRows(
        _from_columns(vectors[:n_features]),
        indicator(path, _from_columns(vectors[n_features : n_features + len(numbers)])),
        tuple(names[number].decode("latin-1") for number in numbers),
    )


def _from_columns(vectors: list[np.ndarray]) -> csr_array:
    rows = [np.flatnonzero(vector) for vector in vectors]
    with np.errstate(over="ignore"):
        data = [vector[row].astype(np.float32) for vector, row in zip(vectors, rows, strict=True)]
    ends = np.cumsum([0, *map(len, rows)])
    shape = (len(vectors[0]), len(vectors))
    return csr_array(csc_array((np.concatenate(data), np.concatenate(rows), ends), shape=shape))


def _only_object(path: Path, n_values: int) -> Any:
    """Return the parsed value of the file's only variable; nothing of R is evaluated."""
    import rdata

    content = _content(path, n_values * _BYTES_PER_VALUE + _SLACK_BYTES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the parser only warns about content that it doesn't know
            parsed = rdata.parser.parse_data(content, expand_altrep=False)
    except Exception as error:  # the parser meets damaged input with whatever its parts raise
        raise MalformedData(
            path.name, "file", f"not readable as R data ({type(error).__name__}: {error})"
        ) from error
    items = list(_pairs(parsed.object))
    if len(items) != 1:
        raise MalformedData(path.name, "file", f"{len(items)} variables instead of one")
    return items[0][1]


def _content(path: Path, limit: int) -> bytes:
    """Return the file without its compression; rdata would expand it, and what is in it, without a bound."""
    with path.open("rb") as file:
        start = file.read(8)
    opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), None)
    content = read_expanded(path, opener, limit) if opener else path.read_bytes()
    if not content.startswith(_MAGIC):
        raise MalformedData(path.name, "byte 0", f"not readable as R data: it starts with {content[:8]!r}")
    return content


def _pairs(node: Any) -> Iterator[tuple[bytes | None, Any]]:
    """Yield names and values of an R pairlist."""
    while node is not None and node.info.type.name == "LIST":
        tag = node.tag
        if tag is not None and tag.info.type.name == "REF":
            tag = tag.referenced_object
        name = tag.value.value if tag is not None and tag.info.type.name == "SYM" else None
        value, node = node.value
        yield name, value


def _attributes(item: Any) -> dict[bytes | None, Any]:
    return dict(_pairs(item.attributes))


def _named_items(path: Path, item: Any) -> dict[bytes, Any]:
    """Return the items of an R list or data frame by name."""
    names = None if item is None else _attributes(item).get(b"names")
    if names is None or item.info.type.name != "VEC" or names.info.type.name != "STR":
        raise MalformedData(path.name, "object", "an item that should be a named list")
    keys = [name.value for name in names.value]
    if (
        len(keys) != len(item.value)
        or len(set(keys)) != len(keys)
        or not all(isinstance(key, bytes) for key in keys)
    ):
        raise MalformedData(path.name, "object", "a list with missing or repeated names")
    return dict(zip(keys, item.value, strict=True))


def _is_numeric(item: Any) -> bool:
    return item.info.type.name in ("REAL", "INT", "LGL") and isinstance(item.value, np.ndarray)
