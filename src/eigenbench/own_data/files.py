"""Read a user's file: a table, a sparse matrix or a folder of images."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from eigenbench.datasets.errors import MalformedData
from eigenbench.own_data.arff_table import read_arff_table
from eigenbench.own_data.images import read_image_folder
from eigenbench.own_data.svmlight_rows import read_svmlight
from eigenbench.own_data.table import OwnDataError, UserTable, split_columns, table_of

#: Characters of a text file from which the delimiter is found.
_SAMPLE = 1 << 16

_DELIMITERS = ",;\t|"

_COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def read_user_file(
    path: Path, target: Sequence[str] = (), group: str | None = None, *, like: UserTable | None = None
) -> UserTable:
    """Read a file or folder.

    Parameters
    ----------
    path : Path
        CSV or TSV (also compressed), Parquet, Feather, ARFF; npz (with ``X`` and ``y``), svmlight, or a
        folder with a folder of images for each class.
    target, group : sequence of str, and str, optional
        Columns of a table. The other formats say themselves what is to be predicted.
    like : UserTable, optional
        Training rows: a svmlight file then has their first column and their number of columns, which it does
        not say itself.

    Returns
    -------
    UserTable
        The rows, in the file's order.

    Raises
    ------
    OwnDataError
        In one sentence, what is wrong with the file or the options.
    """
    try:
        if path.is_dir():
            return _without_columns(path, target, group, read_image_folder)
        if not path.exists():
            raise OwnDataError(f"there is no file {path}")
        kind = _kind_of(path)
        if kind in _SVMLIGHT:
            _refuse_columns(path, target, group)
            return read_svmlight(path, like, _COMPRESSED.get(path.suffix.lower(), open))
        if kind in _LABELLED:
            return _without_columns(path, target, group, _LABELLED[kind])
        if kind not in _TABLES:
            known = ", ".join(f".{name}" for name in (*_TABLES, *_LABELLED, *_SVMLIGHT))
            raise OwnDataError(f"{path.name}: its name must end in one of {known}, or be that of a folder")
        frame = _TABLES[kind](path)
    except OwnDataError:
        raise
    except UnicodeDecodeError as error:
        raise OwnDataError(f"{path.name} is not UTF-8 at byte {error.start}: save it as UTF-8") from None
    except pd.errors.EmptyDataError:
        raise OwnDataError(f"{path.name} is empty") from None
    except (
        MalformedData,
        OSError,
        ValueError,
        NotImplementedError,
        csv.Error,
        EOFError,
        lzma.LZMAError,
    ) as error:
        raise OwnDataError(f"{path.name} can't be read: {_first_line(error)}") from error
    if not target:
        columns = ", ".join(map(str, frame.columns[-5:]))
        raise OwnDataError(
            f"name the column to predict with --target; the last of {path.name} are: {columns}"
        )
    return split_columns(path.name, frame, target, group)


def _kind_of(path: Path) -> str:
    name = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    return name.suffix.lower().lstrip(".")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _without_columns(
    path: Path, target: Sequence[str], group: str | None, read: Callable[[Path], tuple[Any, Any]]
) -> UserTable:
    _refuse_columns(path, target, group)
    return table_of(path.name, *read(path))


def _refuse_columns(path: Path, target: Sequence[str], group: str | None) -> None:
    if target or group:
        raise OwnDataError(f"{path.name} has no columns with names: leave --target and --group out")


def _read_csv(path: Path, delimiters: str = _DELIMITERS) -> pd.DataFrame:
    sample = _sample(path)
    if not sample.strip():
        raise OwnDataError(f"{path.name} is empty")
    delimiter = _delimiter(sample, delimiters)
    header = next(csv.reader(sample.splitlines(), delimiter=delimiter))
    names = [name.strip() for name in header]
    if twice := [name for name in dict.fromkeys(names) if name and names.count(name) > 1]:
        raise OwnDataError(f"{path.name}: two columns are named {twice[0]!r}: rename one")
    frame = pd.read_csv(path, sep=delimiter, encoding="utf-8-sig", index_col=False, low_memory=False)
    return frame.rename(columns=lambda name: str(name).strip())


def _sample(path: Path) -> str:
    """Return the start of a text file."""
    opener = _COMPRESSED.get(path.suffix.lower(), open)
    with opener(path, "rt", encoding="utf-8-sig", newline="") as stream:
        return stream.read(_SAMPLE)


def _delimiter(sample: str, delimiters: str) -> str:
    """Return the delimiter that the first line has most of."""
    first = next(line for line in sample.splitlines() if line.strip())
    return max(delimiters, key=first.count)


def _read_tsv(path: Path) -> pd.DataFrame:
    return _read_csv(path, "\t")


def _read_npz(path: Path) -> tuple[Any, Any]:
    from eigenbench.datasets.readers.arrays import load_arrays

    X, arrays = load_arrays(path)
    y = arrays["y"]
    return X, pd.DataFrame(y, columns=arrays.get("label_names")) if y.ndim == 2 else y


_TABLES: dict[str, Callable[[Path], pd.DataFrame]] = {
    "csv": _read_csv,
    "txt": _read_csv,
    "tsv": _read_tsv,
    "parquet": pd.read_parquet,
    "feather": pd.read_feather,
    "arff": read_arff_table,
}

_LABELLED: dict[str, Callable[[Path], tuple[Any, Any]]] = {
    "npz": _read_npz,
}

_SVMLIGHT = ("svmlight", "libsvm", "svm")
