"""R's binary data files: a labelled matrix, a data frame with factors, or a multilabel ``mldr`` object."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from scipy.sparse import csc_array, csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows, indicator, integer_labels


def read_r_matrix(path: Path) -> RawRows:
    """Read the only object of an ``.RData`` file, a numeric matrix with class labels in its first column."""
    table = np.asarray(_only_object(path))
    if table.ndim != 2 or table.dtype.kind not in "iufb" or len(table) == 0 or table.shape[1] < 2:
        raise MalformedData(path.name, "object", "not a numeric matrix")
    with np.errstate(over="ignore"):
        return RawRows(table[:, 1:].astype(np.float32), integer_labels(path, table[:, 0]))


def read_r_frame(path: Path, *, label: str, part_column: str, part: str) -> RawRows:
    """Read those rows of the only object of a file, a data frame, that belong to a part.

    All columns but two are numeric: the factor ``label`` is the class, the levels of ``part_column`` begin
    with the name of a part and a dot. Errors are those of `read_r_matrix`.
    """
    columns = _named_items(path, _only_object(path))
    labels, parts = (_levels(path, columns.pop(name, None), name) for name in (label, part_column))
    vectors = [column for column in columns.values() if _is_numeric(column)]
    if not vectors or len(vectors) < len(columns) or {len(v) for v in (*vectors, parts)} != {len(labels)}:
        raise MalformedData(path.name, "object", "not a data frame of numeric columns of one length")
    chosen = np.char.startswith(parts, f"{part}.")
    with np.errstate(over="ignore"):
        features = np.column_stack(vectors)[chosen].astype(np.float32)
    return RawRows(features, labels[chosen])


def _levels(path: Path, factor: Any, name: str) -> np.ndarray:
    """Return the level of each row."""
    if not isinstance(factor, tuple):
        raise MalformedData(path.name, name, "no factor of that name")
    codes, levels = factor
    if levels.dtype.kind != "U" or not ((codes >= 1) & (codes <= len(levels))).all():
        raise MalformedData(path.name, name, "a missing value, or one that is no level")
    return np.asarray(levels[codes - 1])


def read_r_mldr(path: Path) -> RawRows:
    """Read the only object of an ``.rda`` file, an ``mldr`` list as R's multilabel packages write it.

    Its list has the items ``dataset``, a data frame with one numeric column per attribute, and ``labels``, a
    data frame whose column ``index`` numbers the label attributes from 1. Needs 24 bytes a value to parse.
    """
    mldr = _named_items(path, _only_object(path))
    columns = _named_items(path, mldr.get("dataset"))
    index = _named_items(path, mldr.get("labels")).get("index")
    if not _is_numeric(index) or not columns or not all(map(_is_numeric, columns.values())):
        raise MalformedData(path.name, "object", "not an mldr list with numeric columns and label numbers")
    numbers = integer_labels(path, index) - 1
    if not len(numbers) or (np.diff(numbers) != 1).any() or numbers[0] < 1 or numbers[-1] >= len(columns):
        raise MalformedData(
            path.name, "labels", "the labels are not consecutive attributes after the features"
        )
    names, vectors = list(columns), list(columns.values())
    if len({len(vector) for vector in vectors}) != 1 or len(vectors[0]) == 0:
        raise MalformedData(path.name, "dataset", "columns of different lengths, or empty ones")
    n_features = int(numbers[0])
    return RawRows(
        _from_columns(vectors[:n_features]),
        indicator(path, _from_columns(vectors[n_features : n_features + len(numbers)])),
        tuple(str(names[number]) for number in numbers),
    )


def _from_columns(vectors: list[np.ndarray]) -> csr_array:
    rows = [np.flatnonzero(vector) for vector in vectors]
    with np.errstate(over="ignore"):
        data = [vector[row].astype(np.float32) for vector, row in zip(vectors, rows, strict=True)]
    ends = np.cumsum([0, *map(len, rows)])
    shape = (len(vectors[0]), len(vectors))
    return csr_array(csc_array((np.concatenate(data), np.concatenate(rows), ends), shape=shape))


def _only_object(path: Path) -> Any:
    """Return the file's only variable; nothing of R is evaluated.

    A list or data frame is a dict, a factor a pair of codes and levels, a vector or matrix an array.
    """
    from rdata import conversion, parser

    content = path.read_bytes()
    # A few bytes can stand for any number of row names and the like: none of them is expanded.
    info = parser.RObjectInfo(
        parser.RObjectType.INT, object=False, attributes=False, tag=False, gp=0, reference=0
    )
    compact = dict.fromkeys(parser.DEFAULT_ALTREP_MAP, lambda _: (info, np.empty(0, np.int32)))
    classes: dict[str | bytes, Any] = dict(conversion.DEFAULT_CLASS_MAP)
    classes |= dict.fromkeys(("data.frame", "mldr"), lambda items, _: items)
    classes |= dict.fromkeys(("factor", "ordered"), _factor)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the parser only warns about content that it doesn't know
            parsed = parser.parse_data(content, altrep_constructor_dict=compact)
            variables = conversion.convert(parsed, classes, default_encoding="latin-1")
    except Exception as error:  # the parser meets damaged input with whatever its parts raise
        raise MalformedData(
            path.name,
            "file",
            f"not readable as R data: it starts with {content[:8]!r} ({type(error).__name__}: {error})",
        ) from error
    found = variables if isinstance(variables, dict) else {}
    if len(found) != 1:
        raise MalformedData(path.name, "file", f"{len(found)} variables instead of one")
    return next(iter(found.values()))


def _factor(codes: Any, attributes: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of a factor, from 1 and 0 for a missing one, and its levels."""
    return np.ma.filled(codes, 0).astype(np.intp), np.asarray(attributes["levels"])


def _named_items(path: Path, item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise MalformedData(path.name, "object", "an item that should be a named list")
    return dict(item)


def _is_numeric(item: Any) -> TypeGuard[np.ndarray]:
    return isinstance(item, np.ndarray) and item.ndim == 1 and item.dtype.kind in "iufb"
