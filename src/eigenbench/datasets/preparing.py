"""Turn a dataset's raw files into memory-mappable arrays and a card."""

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from pydantic import ValidationError
from scipy.sparse import csr_array

from eigenbench.datasets.assembly import check_rows, encode_labels, stored_features
from eigenbench.datasets.card import ArrayRecord, Card
from eigenbench.datasets.catalogue import Catalogue, Entry, FirstSplit, Part, RandomSplit, load_catalogue
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.fetching import Manifest, fetch
from eigenbench.datasets.readers import Matrix, Rows, read_part
from eigenbench.datasets.splits import random_split
from eigenbench.datasets.storage import (
    CHUNK,
    atomic_writer,
    make_folder,
    prepared_folder,
    raw_folder,
    resolve_data_dir,
    sha256_of,
    storage_errors,
    write_atomically,
)

_FORMAT_VERSION = 2
_CARD = "card.json"
LABEL_EDGES = "label_edges.npy"


def prepare(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    catalogue: Catalogue | None = None,
    progress: bool = True,
) -> Card:
    """Write a dataset's arrays and card into ``<data_dir>/prepared/<name>/``, fetching it when needed.

    The card is written last and names every array with its SHA-256, so a folder without a card that fits is
    one that isn't finished; it is prepared again.

    Parameters
    ----------
    name : str
        Dataset name in the catalogue.
    data_dir : path-like, optional
        Default: ``$EIGENBENCH_DATA``, else the user's cache folder.
    catalogue : Catalogue, optional
        Default: the one that comes with eigenbench.
    progress : bool, default=True
        Say what is done, on standard error.

    Returns
    -------
    Card
        Also written to ``card.json``.

    Raises
    ------
    MalformedData
        A raw file that its reader refuses, NaN or infinite values, or other counts than the catalogue's.
    DatasetUnavailable, CatalogueError, StorageError, InsufficientSpace
        As `fetch` raises them.

    Notes
    -----
    Needs memory for the whole dataset once as read and once as stored: 0.3 GB for MNIST, 0.5 GB for
    Covertype, but 7 GB for RCV1, whose R file is dense.

    Examples
    --------
    >>> from eigenbench.datasets import prepare
    >>> prepare("digits", progress=False).n_features
    64
    """
    entry = (catalogue or load_catalogue()).entry(name)
    data = resolve_data_dir(data_dir)
    folder = prepared_folder(data, name)
    card = read_card(folder)
    if card is not None and card.recipe == recipe_of(entry) and _arrays_are_intact(folder, card):
        return card
    manifest = fetch(name, data_dir=data, catalogue=catalogue, progress=progress)
    if progress:
        print(f"{name}: preparing", file=sys.stderr, flush=True)
    raw = raw_folder(data, name)
    parts = {
        part: read_part(entry, part, [raw / file for file in files]) for part, files in entry.parts.items()
    }
    for part, rows in parts.items():
        check_rows(entry, part, rows)
    classes, targets = encode_labels(name, entry, parts)
    features = {part: stored_features(entry, part, rows.features) for part, rows in parts.items()}
    if isinstance(entry.split, FirstSplit):
        features, targets = _cut(features, entry.split.n_train), _cut(targets, entry.split.n_train)
    make_folder(folder)
    if card is not None and card.recipe != recipe_of(entry):
        with storage_errors(folder):
            (folder / _CARD).unlink(missing_ok=True)
    arrays = _write(folder, "X", features) | _write(folder, "y", targets) | _write_graph(name, folder, parts)
    card = _card(name, entry, classes, targets, manifest, arrays)
    write_atomically(folder / _CARD, card.model_dump_json(indent=2).encode())
    return card


def recipe_of(entry: Entry) -> str:
    """Return the hash of what determines arrays and card: the entry without its sources, and our format."""
    # What is left out here does not change the arrays; new keys of this kind keep old data valid.
    what = entry.model_dump_json(
        exclude={"files": {"__all__": {"sources"}}, "supplied": True, "expect": {"exact_rows"}}
    )
    return hashlib.sha256(f"{_FORMAT_VERSION}{what}".encode()).hexdigest()


def read_card(folder: Path) -> Card | None:
    """Return the card of a prepared folder, or None when there is none or a damaged one."""
    try:
        return Card.model_validate_json((folder / _CARD).read_bytes())
    except (OSError, ValidationError):
        return None


def _arrays_are_intact(folder: Path, card: Card) -> bool:
    return all(
        (folder / file).is_file()
        and (folder / file).stat().st_size == record.bytes
        and sha256_of(folder / file) == record.sha256
        for file, record in card.arrays.items()
    )


def _cut(whole: Mapping[Part, Matrix], n_train: int) -> dict[Part, Matrix]:
    return {"train": whole["all"][:n_train], "test": whole["all"][n_train:]}


def _write(folder: Path, letter: str, parts: Mapping[Part, Matrix]) -> dict[str, ArrayRecord]:
    records = {}
    for part, matrix in parts.items():
        if isinstance(matrix, csr_array):
            index = _index_dtype(matrix)
            pieces = {
                f"{letter}_{part}_data.npy": matrix.data,
                f"{letter}_{part}_indices.npy": matrix.indices.astype(index, copy=False),
                f"{letter}_{part}_indptr.npy": matrix.indptr.astype(index, copy=False),
            }
        else:
            pieces = {f"{letter}_{part}.npy": matrix}
        for file, array in pieces.items():
            records[file] = _write_array(folder / file, array)
    return records


def _index_dtype(matrix: csr_array) -> type:
    """Return the narrowest integers that hold the indices: LIBLINEAR takes 32 bits only."""
    return np.int32 if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max else np.int64


def _write_graph(name: str, folder: Path, parts: Mapping[Part, Rows]) -> dict[str, ArrayRecord]:
    """Write the graph of the labels, which all parts must share, if the files have one."""
    (names, edges), *others = ((rows.label_names, rows.label_edges) for rows in parts.values())
    if edges is None:
        return {}
    if any(other != names or graph is None or not np.array_equal(graph, edges) for other, graph in others):
        raise MalformedData(name, "labels", "the parts have different hierarchies")
    return {LABEL_EDGES: _write_array(folder / LABEL_EDGES, edges)}


def _write_array(path: Path, array: np.ndarray) -> ArrayRecord:
    array = np.ascontiguousarray(array)
    with atomic_writer(path) as sink:
        np.lib.format.write_array_header_1_0(sink, np.lib.format.header_data_from_array_1_0(array))
        flat = array.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), CHUNK):
            sink.write(flat[start : start + CHUNK].data)
    return ArrayRecord(sha256=sink.sha256, bytes=sink.size, shape=array.shape, dtype=str(array.dtype))


def _card(
    name: str,
    entry: Entry,
    classes: tuple[str, ...],
    targets: Mapping[Part, Matrix],
    manifest: Manifest,
    arrays: dict[str, ArrayRecord],
) -> Card:
    if isinstance(entry.split, RandomSplit):
        y = targets["all"]
        strata = y if entry.split.stratify else None
        n_train, n_test = map(len, random_split(y.shape[0], entry.split.test_fraction, 0, strata))
    else:
        n_train, n_test = targets["train"].shape[0], targets["test"].shape[0]
    return Card(
        name=name,
        title=entry.title,
        licence=entry.licence,
        citation=entry.citation,
        homepage=entry.homepage,
        target=entry.target,
        n_train=n_train,
        n_test=n_test,
        n_features=entry.expect.features,
        n_classes=entry.expect.classes,
        classes=classes,
        dtype=entry.dtype,
        scale=entry.scale,
        sparse=entry.sparse,
        split=entry.split,
        sources=manifest.files,
        arrays=arrays,
        recipe=recipe_of(entry),
    )
