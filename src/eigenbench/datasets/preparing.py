"""Turn a dataset's raw files into memory-mappable arrays and a card."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.card import (
    CARD,
    GROUPS,
    LABEL_EDGES,
    TRAINING_FILES,
    ArrayRecord,
    Card,
    Manifest,
    RawFileOrigin,
    check_partition,
    read_card,
    write_card,
)
from eigenbench.datasets.catalogue import Catalogue, CatalogueEntry, Part, load_catalogue
from eigenbench.datasets.dataset import Dataset, open_prepared
from eigenbench.datasets.errors import FETCH_AGAIN, MalformedData
from eigenbench.datasets.fetching import fetch, is_current, recipe_of
from eigenbench.datasets.partitioned import prepare_partitions, write_array
from eigenbench.datasets.readers import RawRows, read_part
from eigenbench.datasets.readers.raw_rows import Matrix, natural_key
from eigenbench.datasets.splits import FirstSplit, FoldSplit, RandomSplit, SampledSplit, draw_split
from eigenbench.datasets.storage import (
    make_folder,
    prepared_folder,
    raw_folder,
    resolve_data_dir,
    storage_errors,
)


def prepare(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    catalogue: Catalogue | None = None,
    progress: bool = True,
) -> Card:
    """Write a dataset's arrays and card into ``<data_dir>/prepared/<name>/``, fetching it when needed.

    The card is written after the arrays and names each with its SHA-256, so a folder without a card that fits
    is one that isn't finished; it is prepared again, and so is one that `is_current` refuses. Options are
    those of `fetch`. Needs memory for the whole dataset once as read and once as stored: 0.3 GB for MNIST,
    0.5 GB for Covertype, but 7 GB for RCV1, whose R file is dense.

    Raises `MalformedData` for a raw file that its reader refuses, NaN or infinite values, or other counts
    than the catalogue's; and as `fetch` does.

    Examples
    --------
    >>> from eigenbench.datasets import prepare
    >>> prepare("digits", progress=False).n_features
    64
    """
    catalogue = catalogue or load_catalogue()
    entry = catalogue.entry(name)
    data = resolve_data_dir(data_dir)
    folder = prepared_folder(data, name)
    if is_current(name, data, catalogue):
        return read_card(folder)
    manifest = fetch(name, data_dir=data, catalogue=catalogue, progress=progress)
    if progress:
        print(f"{name}: preparing", file=sys.stderr, flush=True)
    raw = raw_folder(data, name)
    if entry.partitioned:
        return _prepare_partitions(name, entry, raw, folder, manifest)
    with _own_files_named(entry, catalogue.path):
        parts = {
            part: read_part(entry, part, [raw / file for file in files])
            for part, files in entry.parts.items()
        }
        for part, rows in parts.items():
            _check_rows(entry, part, rows)
        classes, targets = _encode_labels(name, entry, parts)
        features = {part: _stored_features(entry, part, rows.features) for part, rows in parts.items()}
        groups = _groups(name, entry, parts)
    if isinstance(entry.split, FirstSplit):
        n = entry.split.n_train
        features = {"train": features["all"][:n], "test": features["all"][n:]}
        targets = {"train": targets["all"][:n], "test": targets["all"][n:]}
    sizes = _sizes_of_parts(name, entry, targets, groups)
    if is_current(name, data, catalogue):  # another process has prepared it meanwhile
        return read_card(folder)
    _begin(folder)
    arrays = _write(folder, "X", features) | _write(folder, "y", targets) | _write_graph(name, folder, parts)
    if groups is not None:
        arrays[GROUPS] = write_array(folder / GROUPS, groups)
    return _write_card(folder, entry, manifest, name=name, classes=classes, arrays=arrays, **sizes)


def load(name: str, *, data_dir: str | os.PathLike[str] | None = None, split_seed: int = 0) -> Dataset:
    """Return a dataset of the catalogue, fetched and prepared when it isn't yet.

    Parameters
    ----------
    name : str
        Dataset name, see ``eigenbench list datasets``.
    data_dir : path-like, optional
        Default: ``$EIGENBENCH_DATA``, else the user's cache folder.
    split_seed : int, default=0
        Draws the split of a dataset without an official one; ignored by the others.

    Returns
    -------
    Dataset
        See `open_prepared`.

    Raises
    ------
    DatasetError
        As `prepare` and `open_prepared` raise them.

    Examples
    --------
    >>> from eigenbench.datasets import load
    >>> load("digits")
    Dataset('digits', train (1347, 64), test (450, 64), 10 classes)
    """
    prepare(name, data_dir=data_dir)
    return open_prepared(prepared_folder(resolve_data_dir(data_dir), name), split_seed=split_seed)


@contextmanager
def _own_files_named(entry: CatalogueEntry, catalogue: str) -> Iterator[None]:
    """Name the user's own file by its place, with what to correct: it can't be fetched again."""
    try:
        yield
    except MalformedData as error:
        own = {name: file.sources[0] for name, file in entry.files.items() if file.sources[0].kind == "path"}
        if not own or not str(error).endswith(FETCH_AGAIN):
            raise
        file = str(own.get(error.file, error.file)).removeprefix("path ")
        remedy = f"correct the file, or its 'expect' in {catalogue}"
        raise MalformedData(file, error.place, error.problem, remedy) from error


def _check_rows(entry: CatalogueEntry, part: Part, rows: RawRows) -> None:
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
    if entry.dtype == "float32":
        with np.errstate(over="ignore"):
            values = values.astype(np.float32, copy=False)
    unusable = np.isinf(values) if entry.missing else ~np.isfinite(values)
    if unusable.any():
        place = int(np.flatnonzero(unusable)[0])
        row = int(np.sum(rows.features.indptr <= place)) - 1 if sparse else place // found[1]
        what = f"{'an' if entry.missing else 'a NaN or'} infinite value as {values.dtype}"
        raise MalformedData(file, f"{part}, row {row}", f"{what}, which no method here can use")


def _encode_labels(
    name: str, entry: CatalogueEntry, parts: Mapping[Part, RawRows]
) -> tuple[tuple[str, ...], dict[Part, Matrix]]:
    """Return the class names, and per part the class codes, the indicator matrix or the numbers.

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
        names, *others = (rows.label_names for rows in parts.values())
        if any(other != names for other in others):
            raise MalformedData(name, "labels", "the parts name different labels", "name the same in all")
        return names or tuple(str(column) for column in range(expected)), labels
    if entry.target == "regression":
        if not all(block.dtype.kind in "iuf" and np.isfinite(block).all() for block in labels.values()):
            raise MalformedData(name, "labels", "a value that is no finite number")
        return (), {part: block.astype(np.float64) for part, block in labels.items()}
    if any(block.dtype.kind == "f" and (block != np.round(block)).any() for block in labels.values()):
        raise MalformedData(name, "labels", "fractions, which are no classes", "name target: regression")
    values, codes = np.unique(np.concatenate(list(labels.values())), return_inverse=True)
    if len(values) != expected:
        raise MalformedData(name, "labels", f"{len(values)} classes, the catalogue says {expected}")
    if values.dtype.kind == "U":
        natural = sorted(range(expected), key=lambda i: natural_key(str(values[i])))
        values, codes = values[natural], np.argsort(natural)[codes]
    ends = np.cumsum([len(block) for block in labels.values()])
    blocks = np.split(codes.astype(np.int64), ends[:-1])
    return tuple(str(value) for value in values), dict(zip(labels, blocks, strict=True))


def _stored_features(entry: CatalogueEntry, part: Part, features: Matrix) -> Matrix:
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


def _prepare_partitions(
    name: str, entry: CatalogueEntry, raw: Path, folder: Path, manifest: Manifest
) -> Card:
    _begin(folder)
    arrays, training = prepare_partitions(name, entry, raw, folder)
    since = min(record.checked for record in manifest.files).timestamp()
    for partition in training.files:
        check_partition(partition, since)
    sizes = {"n_train": arrays[TRAINING_FILES].shape[0], "n_test": arrays["X_test.npy"].shape[0]}
    classes = tuple(map(str, training.labels))
    return _write_card(folder, entry, manifest, name=name, classes=classes, arrays=arrays, **sizes)


def _begin(folder: Path) -> None:
    """Make the folder without a card, so that it isn't taken for finished while its arrays change."""
    make_folder(folder)
    with storage_errors(folder):
        (folder / CARD).unlink(missing_ok=True)


def _write(folder: Path, letter: str, parts: Mapping[Part, Matrix]) -> dict[str, ArrayRecord]:
    records = {}
    for part, matrix in parts.items():
        if isinstance(matrix, csr_array):
            # The narrowest integers that hold the indices: LIBLINEAR takes 32 bits only.
            index = np.int32 if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max else np.int64
            pieces = {
                f"{letter}_{part}_data.npy": matrix.data,
                f"{letter}_{part}_indices.npy": matrix.indices.astype(index, copy=False),
                f"{letter}_{part}_indptr.npy": matrix.indptr.astype(index, copy=False),
            }
        else:
            pieces = {f"{letter}_{part}.npy": matrix}
        for file, array in pieces.items():
            records[file] = write_array(folder / file, array)
    return records


def _write_graph(name: str, folder: Path, parts: Mapping[Part, RawRows]) -> dict[str, ArrayRecord]:
    """Write the graph of the labels, which all parts must share, if the files have one."""
    (names, edges), *others = ((rows.label_names, rows.label_edges) for rows in parts.values())
    if edges is None:
        return {}
    if any(other != names or graph is None or not np.array_equal(graph, edges) for other, graph in others):
        raise MalformedData(name, "labels", "the parts have different hierarchies")
    return {LABEL_EDGES: write_array(folder / LABEL_EDGES, edges)}


def _sizes_of_parts(
    name: str, entry: CatalogueEntry, targets: Mapping[Part, Matrix], groups: np.ndarray | None
) -> dict[str, int]:
    """Return the numbers of training and test rows of a split; refuse one that leaves a part empty."""
    split = entry.split
    if isinstance(split, RandomSplit | SampledSplit | FoldSplit):
        n_train, n_test = map(len, draw_split(split, 0, *targets.values(), groups=groups))
    else:
        n_train, n_test = targets["train"].shape[0], targets["test"].shape[0]
    if n_train * n_test == 0 or (isinstance(split, FoldSplit) and split.n_folds > n_train + n_test):
        problem = f"{n_train + n_test} rows leave a part of the split {split.kind!r} empty"
        raise MalformedData(name, "split", problem, "choose another split in the catalogue")
    return {"n_train": n_train, "n_test": n_test}


def _groups(name: str, entry: CatalogueEntry, parts: Mapping[Part, RawRows]) -> np.ndarray | None:
    """Return the groups of the rows if the split keeps them together."""
    if not (isinstance(entry.split, FoldSplit) and entry.split.grouped):
        return None
    groups = parts["all"].groups
    if groups is None:
        raise MalformedData(name, "groups", "the split is grouped, and the file has no groups")
    found = len(np.unique(groups))
    if found < entry.split.n_folds:
        raise MalformedData(name, "groups", f"{found} groups for {entry.split.n_folds} folds")
    return groups


def _write_card(folder: Path, entry: CatalogueEntry, manifest: Manifest, **fields: Any) -> Card:
    same = ("title", "licence", "citation", "homepage", "target", "dtype", "scale", "sparse", "split")
    origin = set(RawFileOrigin.model_fields)
    card = Card(
        **{field: getattr(entry, field) for field in same},
        n_features=entry.expect.features,
        n_classes=entry.expect.classes,
        sources=tuple(RawFileOrigin(**record.model_dump(include=origin)) for record in manifest.files),
        recipe=recipe_of(entry),
        **fields,
    )
    write_card(folder, card)
    return card
