"""Read a user's file: a table, a sparse matrix or a folder of images."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
import pandas as pd

from eigenbench.datasets.archives import ZIP_DAMAGE
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.arrays import load_arrays
from eigenbench.own_data.arff_table import read_arff_table
from eigenbench.own_data.delimited_text import COMPRESSED, check_header, open_bytes, read_delimited
from eigenbench.own_data.images import read_image_folder
from eigenbench.own_data.svmlight_rows import read_svmlight
from eigenbench.own_data.table import OwnDataError, UserTable, split_columns, table_of, unknown


def read_table(path: str | Path, *, header: bool = True) -> pd.DataFrame:
    """Read a table as ``eigenbench compare`` does, so that a saved model gets the columns that it knows.

    Parameters
    ----------
    path : path-like
        Text with commas, semicolons, tabs, bars or blanks between fields (``.csv``, ``.txt``, ``.tsv``, also
        ``.gz``, ``.bz2``, ``.xz``, ``.zip``), Parquet, Feather, Excel (``.xlsx``, one sheet), JSON lines
        (``.jsonl``) or ARFF.
    header : bool, default=True
        Whether the first row of a text names the columns; else they are called 1, 2, ….

    Returns
    -------
    DataFrame
        Columns of text files hold texts: a model from ``eigenbench compare`` knows what they mean.

    Raises
    ------
    OwnDataError
        In one sentence, what is wrong with the file.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "data.csv"
    >>> _ = path.write_text("size;kind\\n1,5;x\\n2,0;y\\n")
    >>> read_table(path)["size"].tolist()
    ['1,5', '2,0']
    """
    path = Path(path)
    return _with_plain_errors(path, lambda: _frame(path, header))


def read_user_file(
    path: Path,
    target: Sequence[str] = (),
    group: str | None = None,
    *,
    drop: Sequence[str] = (),
    header: bool = True,
    like: UserTable | None = None,
) -> UserTable:
    """Read a file or folder and divide it into features, targets and groups.

    Beside tables (see `read_table`), whose columns ``target``, ``group`` and ``drop`` name: npz (with ``X``,
    ``y`` and perhaps ``groups``), svmlight, or a folder with a folder of images for each class, which say
    themselves what is to be predicted. A svmlight file of test rows has the columns of the training rows,
    ``like``, and test images have their size and colours. What is wrong with the file or the options is an
    `OwnDataError` of one sentence.
    """
    if path.is_dir() or _kind_of(path) in _LABELLED:
        if target or group or drop or not header:
            options = "--target, --group, --drop, --no-header"
            raise OwnDataError(f"{path} has no columns with names: leave {options} out")
        return _with_plain_errors(path, lambda: _labelled(path, like))
    frame = read_table(path, header=header)
    if not target:
        last = ", ".join(map(str, frame.columns[-5:]))
        raise OwnDataError(f"name the column to predict with --target; the last of {path.name} are: {last}")
    drop = [name for text in drop for name in named_columns(text, frame.columns)]
    absent = [name for name in drop if name not in frame.columns]
    if absent and like is None:
        raise OwnDataError(f"{path.name}: {unknown('column', absent[0], frame.columns)}")
    return split_columns(path.name, frame.drop(columns=drop, errors="ignore"), target, group)


def named_columns(text: str, columns: Container[str]) -> list[str]:
    """Return the column of that name, else the names between commas."""
    return [text] if text in columns else [name for part in text.split(",") if (name := part.strip())]


def _with_plain_errors(path: Path, read: Callable[[], Any]) -> Any:
    """Return what a function reads; raise every fault of the file as one sentence."""
    try:
        if not path.exists():
            raise OwnDataError(f"there is no file {path}")
        return read()
    except OwnDataError:
        raise
    except MalformedData as error:  # it names the file
        raise OwnDataError(_first_line(error)) from error
    except UnicodeDecodeError as error:
        raise OwnDataError(f"{path.name} is no text in one encoding: save it as UTF-8") from error
    except ImportError as error:
        raise OwnDataError(f"{path.name} needs a package: pip install {error.name or 'openpyxl'}") from error
    except (MemoryError, OSError, KeyError, csv.Error, *ZIP_DAMAGE) as error:
        raise OwnDataError(f"{path.name} can't be read: {_first_line(error)}") from error


def _frame(path: Path, header: bool) -> pd.DataFrame:
    kind = _kind_of(path)
    if kind in ("csv", "txt", "tsv"):
        delimiters = "\t" if kind == "tsv" else ",;\t|"
        return read_delimited(path, delimiters=delimiters, header=header)
    if kind in _LABELLED:
        raise OwnDataError(f"{path.name} holds an array, not a table with named columns")
    if kind not in _TABLES:
        known = ", ".join(f".{name}" for name in ("csv", "txt", "tsv", *_TABLES, *_LABELLED))
        zipped = "; of a zip archive in .csv.zip" if path.suffix.lower() == ".zip" else ""
        raise OwnDataError(f"{path.name}: its name must end in one of {known}, or be a folder's{zipped}")
    if not header:
        raise OwnDataError(f"{path.name}: --no-header is for text: give its columns names")
    table = _TABLES[kind](path)
    levels = table.index.names
    copies = [
        place
        for place, name in enumerate(levels)
        if name in table.columns and table.index.get_level_values(place).equals(pd.Index(table[name]))
    ]
    table = table.reset_index(level=copies, drop=True)
    if len(copies) < len(levels) and any(name is not None for name in levels):
        table = table.reset_index(allow_duplicates=True)
    return table.rename(columns=str)


def _kind_of(path: Path) -> str:
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return name.suffix.lower().lstrip(".")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _labelled(path: Path, like: UserTable | None) -> UserTable:
    if path.is_dir():
        rows, labels, shape = read_image_folder(path, like.image_shape if like else None)
        return replace(table_of(path.resolve().name, rows, labels), image_shape=shape)
    if _kind_of(path) != "npz":
        return read_svmlight(path, like)
    X, arrays = load_arrays(path)
    y = arrays["y"]
    labels = pd.DataFrame(y, columns=arrays.get("label_names")) if y.ndim == 2 else y
    return table_of(path.name, X, labels, arrays.get("groups"))


def _read_excel(path: Path) -> pd.DataFrame:
    """Return the only sheet with rows; those before the header that fill one cell are titles."""
    options = {"dtype": object, "keep_default_na": False, "na_values": [""]}
    if not is_zipfile(path):
        raise OwnDataError(f"{path.name} is an old or a protected workbook: save it as an unprotected .xlsx")
    sheets = pd.read_excel(path, sheet_name=None, header=None, **options)
    cells = {name: sheet.dropna(how="all").dropna(how="all", axis=1) for name, sheet in sheets.items()}
    filled = [name for name, sheet in cells.items() if len(sheet) > 1]
    if not filled:
        raise OwnDataError(f"{path.name} has no rows")
    if len(filled) > 1:
        names = ", ".join(map(repr, filled))
        raise OwnDataError(f"{path.name}: sheets {names} have rows: save one as a file of its own")
    sheet = cells[filled[0]]
    first = int(np.argmax(sheet.notna().sum(axis=1) >= min(2, sheet.shape[1])))
    names = sheet.iloc[first].fillna("").map(lambda name: str(name).strip())
    blank = names == ""
    if blank.sum() > 1:
        names[blank] = [f"column {place + 1}" for place in names.index[blank]]
    rows = sheet.iloc[first + 1 :]
    cells_of_rows = [[None if pd.isna(cell) else str(cell) for cell in row] for row in rows[:6].to_numpy()]
    check_header(path.name, names.tolist(), cells_of_rows)
    return rows.set_axis(names.tolist(), axis=1)


def _read_json_lines(path: Path) -> pd.DataFrame:
    """Return one row for each line that is not blank; its object names the columns."""
    rows = []
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, object_pairs_hook=_without_repeats)
            except (ValueError, RecursionError) as error:
                raise OwnDataError(f"{path.name}, line {number} is no JSON: {_first_line(error)}") from error
            if not isinstance(row, dict):
                raise OwnDataError(f'{path.name}, line {number} is no object: write {{"column": value, …}}')
            rows.append(row)
    return pd.DataFrame(rows)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; a name that is there twice is a ValueError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"it names {next(name for name in names if names.count(name) > 1)!r} twice")
    return found


_TABLES: dict[str, Callable[[Path], pd.DataFrame]] = {
    "parquet": pd.read_parquet,
    "feather": pd.read_feather,
    "xlsx": _read_excel,
    "jsonl": _read_json_lines,
    "arff": read_arff_table,
}

#: Files that say themselves what is to be predicted.
_LABELLED = ("npz", "svmlight", "libsvm", "svm")
