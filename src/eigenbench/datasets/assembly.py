"""From the rows that a reader gives to the arrays that are stored: checks, class codes, types."""

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.catalogue import Entry, Part
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers import Rows
from eigenbench.datasets.readers.base import Matrix, natural_key


def check_rows(entry: Entry, part: Part, rows: Rows) -> None:
    """Raise `MalformedData` unless the counts are the catalogue's and every value is finite."""
    file = entry.parts[part][0]
    found = rows.features.shape
    expected = (entry.expect.rows[part] if entry.expect.exact_rows else found[0], entry.expect.features)
    if found != expected or rows.labels.shape[0] != found[0]:
        problem = f"{found[0]} x {found[1]} features and {rows.labels.shape[0]} labels"
        raise MalformedData(
            file, f"{part} rows", f"{problem}, the catalogue says {expected[0]} x {expected[1]}"
        )
    sparse = isinstance(rows.features, csr_array)
    values = rows.features.data if sparse else rows.features
    if values.dtype.kind != "f":
        return
    unusable = np.isinf(values) if entry.missing else ~np.isfinite(values)
    if unusable.any():
        place = int(np.flatnonzero(unusable)[0])
        row = int(np.sum(rows.features.indptr <= place)) - 1 if sparse else place // found[1]
        what = "an infinite value" if entry.missing else "a NaN or infinite value"
        raise MalformedData(file, f"{part}, row {row}", f"{what}, which no method here can use")


def encode_labels(
    name: str, entry: Entry, parts: Mapping[Part, Rows]
) -> tuple[tuple[str, ...], dict[Part, Matrix]]:
    """Return the class names, and per part the class codes or the indicator matrix.

    Codes number the classes of all parts together, in the order of their values (``s2`` before ``s10``).
    """
    expected = entry.expect.classes
    labels = {part: rows.labels for part, rows in parts.items()}
    if entry.target == "multilabel":
        for part, matrix in labels.items():
            if matrix.ndim != 2 or matrix.shape[1] != expected:
                raise MalformedData(
                    name, part, f"labels of shape {matrix.shape}, expected {expected} columns"
                )
        names = next(iter(parts.values())).label_names
        return names or tuple(str(column) for column in range(expected)), labels
    values, codes = np.unique(np.concatenate(list(labels.values())), return_inverse=True)
    if len(values) != expected:
        raise MalformedData(name, "labels", f"{len(values)} classes, the catalogue says {expected}")
    if values.dtype.kind == "U":
        natural = sorted(range(expected), key=lambda i: natural_key(str(values[i])))
        values, codes = values[natural], np.argsort(natural)[codes]
    ends = np.cumsum([len(block) for block in labels.values()])
    blocks = np.split(codes.astype(np.int64), ends[:-1])
    return tuple(str(value) for value in values), dict(zip(labels, blocks, strict=True))


def stored_features(entry: Entry, part: Part, features: Matrix) -> Matrix:
    """Return the features as CSR or dense, in the type that the catalogue names."""
    if entry.sparse:
        return csr_array(features, dtype=np.float32)
    dense = features.toarray() if isinstance(features, csr_array) else features
    if entry.dtype == "float32":
        return dense.astype(np.float32, copy=False)
    small = dense.astype(np.uint8)
    if not np.array_equal(small, dense):
        raise MalformedData(entry.parts[part][0], part, "values that are not whole numbers from 0 to 255")
    return small
