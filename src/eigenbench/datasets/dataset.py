"""Datasets for estimators: prepared arrays, split into training and test rows."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.card import (
    GROUPS,
    LABEL_EDGES,
    TRAINING_FILES,
    Card,
    TrainingFiles,
    read_card,
    read_training_files,
)
from eigenbench.datasets.errors import MalformedData, prepare_again
from eigenbench.datasets.splits import FoldSplit, RandomSplit, SampledSplit, draw_split, nested_order
from eigenbench.methods.linalg.partition_files import ArrayFile, ParquetFile, PartitionError, readers_of
from eigenbench.methods.linalg.partitions import Partitions


@dataclass(frozen=True, repr=False)
class Dataset:
    """A dataset ready for estimators.

    Attributes
    ----------
    name : str
        Its name in the catalogue.
    X_train, X_test : ndarray of shape (n, d) or csr_array
        float32 features. Dense float32 arrays of an official split are read-only memory maps.
    y_train, y_test : ndarray of shape (n,) of int64 or csr_array of shape (n, c) of uint8
        Class codes 0 … c-1, or the indicator matrix of a multilabel dataset; float64 of a regression.
        For a dataset in partitions X_train is a :class:`~eigenbench.Partitions` of rows and codes, and
        y_train None.
    target : {"multiclass", "multilabel", "regression"}
        Which of them.
    classes : list of str
        Label names, by code or column.
    card : Card
        Everything else: licence, citation, sources, hashes.
    label_edges : ndarray of shape (m, 2) or None
        Edges (child, parent) of a graph of the labels: column numbers, and c for the root.
    test_rows : ndarray of shape (n_test,) or None
        Numbers of the test rows, where the seed draws them: among all rows, or among those of the
        publisher's test file.
    train_groups, test_groups : ndarray of shape (n_train,) and (n_test,), or None
        The group of each row, where the split keeps groups whole.
    """

    name: str
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    target: Literal["multiclass", "multilabel", "regression"]
    classes: list[str]
    card: Card
    label_edges: np.ndarray | None = None
    test_rows: np.ndarray | None = None
    train_groups: np.ndarray | None = None
    test_groups: np.ndarray | None = None

    def __repr__(self) -> str:
        width = self.X_test.shape[1]
        shapes = f"train {(self.card.n_train, width)}, test {self.X_test.shape}"
        return f"Dataset({self.name!r}, {shapes}, {len(self.classes)} classes)"

    def smaller(self, seed: int, *, train_rows: int | None = None, classes: int | None = None) -> "Dataset":
        """Return the dataset with fewer training rows, or with fewer classes in training and test rows.

        The seed draws them, as `nested_order` has it: of each class its share, the rows of a smaller number
        among those of a larger one. Codes of the classes that are left start from 0. Raises a ValueError for
        more than there are.
        """
        multiclass = self.target == "multiclass"
        n_rows, n_classes = self.X_train.shape[0], len(self.classes)
        codes = np.asarray(self.y_train) if multiclass else np.zeros(n_rows, dtype=np.intp)
        order, class_order = nested_order(codes, n_classes, seed)
        if train_rows is not None:
            if train_rows > n_rows:
                raise ValueError(f"'train_rows' is {train_rows}, and there are {n_rows} training rows")
            rows = np.sort(order[:train_rows])
            groups = None if self.train_groups is None else self.train_groups[rows]
            return replace(self, X_train=self.X_train[rows], y_train=self.y_train[rows], train_groups=groups)
        if classes is None or not multiclass or classes > n_classes:
            raise ValueError(
                f"'classes' is {classes}, and there are {n_classes if multiclass else 'no'} classes"
            )
        kept = np.sort(class_order[:classes])
        code = np.zeros(n_classes, dtype=np.int64)
        code[kept] = np.arange(classes)
        blocks: dict[str, Any] = {"classes": [self.classes[old] for old in kept]}
        for part in ("train", "test"):
            y, groups = getattr(self, f"y_{part}"), getattr(self, f"{part}_groups")
            rows = np.flatnonzero(np.isin(y, kept))
            blocks |= {f"X_{part}": getattr(self, f"X_{part}")[rows], f"y_{part}": code[y[rows]]}
            blocks[f"{part}_groups"] = None if groups is None else groups[rows]
        blocks["test_rows"] = rows if self.test_rows is None else self.test_rows[rows]
        return replace(self, **blocks)


def open_prepared(folder: str | os.PathLike[str], *, split_seed: int = 0) -> Dataset:
    """Open a folder that `prepare` wrote; needs neither the catalogue nor the network.

    The ``split_seed`` draws the split of a dataset without an official one. Features that are stored as bytes
    are float32, divided by the card's ``scale``. With an official split, float32 features are memory-mapped,
    so opening costs no time or memory until they are read. A random split, or scaling, copies: 4 n d bytes.
    Raises `MalformedData` for no card, or an array that is missing or has another size than the card says.
    """
    folder = Path(folder)
    card = read_card(folder)
    for file, record in card.arrays.items():
        path = folder / file
        if not path.is_file() or path.stat().st_size != record.bytes:
            raise MalformedData(
                path, "file", f"not the {record.bytes} bytes of the card", prepare_again(folder)
            )
    if isinstance(card.split, RandomSplit | FoldSplit):
        X, y = _read(folder, card, "X_all"), _read(folder, card, "y_all")
        groups = _map(folder / GROUPS) if GROUPS in card.arrays else None
        train, test = draw_split(card.split, split_seed, y, groups=groups)
        blocks = {"X_train": X[train], "y_train": y[train], "X_test": X[test], "y_test": y[test]}
        blocks["test_rows"] = test
        if groups is not None:
            blocks |= {"train_groups": groups[train], "test_groups": groups[test]}
    elif TRAINING_FILES in card.arrays:
        blocks = {block: _read(folder, card, block) for block in ("X_test", "y_test")}
        blocks |= {"X_train": _partitions_of(read_training_files(folder / TRAINING_FILES)), "y_train": None}
    else:
        blocks = {block: _read(folder, card, block) for block in ("X_train", "y_train", "X_test", "y_test")}
    if isinstance(card.split, SampledSplit):
        train, test = draw_split(card.split, split_seed, blocks["y_train"], blocks["y_test"])
        blocks = {block: rows[train if block.endswith("train") else test] for block, rows in blocks.items()}
        blocks["test_rows"] = test
    if card.scale is not None:
        for block in ("X_train", "X_test"):
            blocks[block] = np.divide(blocks[block], np.float32(card.scale), dtype=np.float32)
    if LABEL_EDGES in card.arrays:
        blocks["label_edges"] = _map(folder / LABEL_EDGES)
    return Dataset(name=card.name, target=card.target, classes=list(card.classes), card=card, **blocks)


def _read(folder: Path, card: Card, block: str) -> Any:
    if f"{block}.npy" in card.arrays:
        return _map(folder / f"{block}.npy")
    data, indices, indptr = (_map(folder / f"{block}_{piece}.npy") for piece in ("data", "indices", "indptr"))
    width = card.n_features if block.startswith("X") else card.n_classes
    return csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))


def _map(path: Path) -> np.ndarray:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _partitions_of(training: TrainingFiles) -> Partitions:
    """Return the rows as float32, and the codes of their labels."""
    readers = readers_of([record.name for record in training.files], training.target)
    return Partitions([CodedFile(reader, training.labels) for reader in readers])


@dataclass(frozen=True)
class CodedFile:
    """A file of labelled rows, as float32 and class codes."""

    reader: ParquetFile | ArrayFile
    labels: tuple[int, ...] | tuple[str, ...]

    @property
    def name(self) -> str:
        """Name in messages."""
        return self.reader.name

    def __call__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and codes, block by block."""
        known = np.array(self.labels)
        order = np.argsort(known)
        for X, y in labelled_blocks(self.reader):
            place = np.minimum(np.searchsorted(known[order], y), len(known) - 1)
            codes = order[place]
            if (new := np.flatnonzero(known[codes] != y)).size:
                raise PartitionError(
                    f"{self.name}: label {y[new[0]]!r} was not there when the data were prepared."
                )
            yield X, codes


def labelled_blocks(reader: ParquetFile | ArrayFile) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield finite float32 rows, and labels as int64 or texts.

    A `PartitionError` names the file for another value, or a label that is a fraction.
    """
    for X, y in reader():
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(X, dtype=np.float32)
        if not np.isfinite(rows).all():
            raise PartitionError(
                f"{reader.name}: a value is NaN, infinite or too large for float32."
                " Replace it, or drop its row."
            )
        yield rows, _plain_labels(reader.name, y)


def _plain_labels(name: str, y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f":
        whole = np.isfinite(y) & (y == np.round(y)) & (np.abs(y) < 2**53)
        if not whole.all():
            raise PartitionError(f"{name}: label {y[~whole][0]} is not a whole number.")
    if y.dtype.kind in "fiub":
        return y.astype(np.int64)
    return y.astype(str)
