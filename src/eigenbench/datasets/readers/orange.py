"""Tables of Orange: tab-separated text under three lines with the names, types and roles of the columns."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import Matrix, RawRows


def read_orange_table(path: Path, *, label: str, text: str | None, n_features: int) -> RawRows:
    """Read the continuous columns beside a column of class labels, or the words of a column of text.

    ``?`` or nothing is a missing value, NaN; blank lines are left out. With ``text`` the features are counts
    of words, each in the column of its hash, so that no word list depends on the rows; several words share a
    column. Raises `MalformedData` with the line for a missing column or label, a value that is no number,
    another number of values than names, or no rows.
    """
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise MalformedData(path.name, f"byte {error.start}", "not UTF-8 text") from error
    names, types = lines[0].split("\t"), lines[1].split("\t") if len(lines) > 1 else []
    for wanted in (label, text):
        if wanted is not None and names.count(wanted) != 1:
            raise MalformedData(path.name, "line 1", f"{names.count(wanted)} columns {wanted!r}, not one")
    if len(types) != len(names):
        raise MalformedData(path.name, "line 2", f"{len(types)} types for {len(names)} columns")
    rows = {number: line.split("\t") for number, line in enumerate(lines[3:], start=4) if line}
    if not rows:
        raise MalformedData(path.name, "end of file", "no rows")
    for number, row in rows.items():
        if len(row) != len(names):
            raise MalformedData(path.name, f"line {number}", f"{len(row)} values for {len(names)} columns")
        if not row[names.index(label)].strip():
            raise MalformedData(path.name, f"line {number}", f"no {label!r}")
    labels = np.array([row[names.index(label)].strip() for row in rows.values()])
    if text is not None:
        return RawRows(_word_counts([row[names.index(text)] for row in rows.values()], n_features), labels)
    columns = [place for place, kind in enumerate(types) if kind in ("continuous", "c")]
    features = np.empty((len(rows), len(columns)), dtype=np.float32)
    for place, (number, row) in enumerate(rows.items()):
        try:
            with np.errstate(over="ignore"):
                features[place] = [row[column].replace("?", "nan") or "nan" for column in columns]
        except ValueError as error:
            raise MalformedData(path.name, f"line {number}", str(error)[:200]) from error
    return RawRows(features, labels)


def _word_counts(documents: Sequence[str], n_columns: int) -> Matrix:
    """Return how often words of at least two letters occur in each document, (n, n_columns) float32 CSR."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        n_features=n_columns, norm=None, alternate_sign=False, dtype=np.float32, decode_error="strict"
    )
    return csr_array(hashing.transform(documents))
