"""Turn a dataset's raw files into memory-mappable arrays and a card."""

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.assembly import check_rows, encode_labels, stored_features
from eigenbench.datasets.card import CARD, GROUPS, LABEL_EDGES, ArrayRecord, Card, read_card
from eigenbench.datasets.catalogue import Catalogue, Entry, Part, load_catalogue
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.fetching import fetch
from eigenbench.datasets.file_sums import STAMPS, FileSums
from eigenbench.datasets.manifest import Manifest, RawFileOrigin
from eigenbench.datasets.partition_records import partition_sum
from eigenbench.datasets.preparing_partitions import prepare_partitions
from eigenbench.datasets.readers import Rows, read_part
from eigenbench.datasets.readers.base import Matrix
from eigenbench.datasets.split_kinds import FirstSplit, FoldSplit, RandomSplit, SampledSplit
from eigenbench.datasets.splits import draw_split
from eigenbench.datasets.storage import (
    CHUNK,
    atomic_writer,
    make_folder,
    prepared_folder,
    raw_folder,
    resolve_data_dir,
    storage_errors,
    write_atomically,
)
from eigenbench.datasets.up_to_date import is_current, recipe_of


def prepare(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    catalogue: Catalogue | None = None,
    progress: bool = True,
) -> Card:
    """Write a dataset's arrays and card into ``<data_dir>/prepared/<name>/``, fetching it when needed.

    The card is written after the arrays and names each with its SHA-256, so a folder without a card that fits
    is one that isn't finished; it is prepared again, and so is one that `is_current` refuses.

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
    if is_current(name, data, catalogue) and (card := read_card(folder)) is not None:
        return card
    manifest = fetch(name, data_dir=data, catalogue=catalogue, progress=progress)
    if progress:
        print(f"{name}: preparing", file=sys.stderr, flush=True)
    raw = raw_folder(data, name)
    if entry.partitioned:
        return _prepare_partitions(name, entry, raw, folder, manifest)
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
    _discard(folder)
    arrays = _write(folder, "X", features) | _write(folder, "y", targets) | _write_graph(name, folder, parts)
    groups = _groups(name, entry, parts)
    if groups is not None:
        arrays[GROUPS] = _write_array(folder / GROUPS, groups)
    sizes = _part_sizes(entry, targets, groups)
    card = _card(name, entry, classes, sizes, manifest, arrays)
    _finish(folder, card, FileSums(folder))
    return card


def _prepare_partitions(name: str, entry: Entry, raw: Path, folder: Path, manifest: Manifest) -> Card:
    make_folder(folder)
    _discard(folder)
    found = prepare_partitions(name, entry, raw, folder)
    sums, earlier = FileSums(folder), FileSums(raw)
    for record in found.training.files:
        if partition_sum(record.name, sums, earlier) != record.sha256:
            raise MalformedData(record.name, "partition", "changed while it was prepared", "run again")
    card = _card(name, entry, found.classes, (found.n_train, found.n_test), manifest, found.arrays)
    _finish(folder, card, sums)
    return card


def _discard(folder: Path) -> None:
    """Remove the card, so that the folder isn't taken for finished while its arrays change."""
    with storage_errors(folder):
        for file in (CARD, STAMPS):
            (folder / file).unlink(missing_ok=True)


def _finish(folder: Path, card: Card, sums: FileSums) -> None:
    """Write the card, and beside it the stamps of all files."""
    content = card.model_dump_json(indent=2).encode()
    write_atomically(folder / CARD, content)
    written = {file: record.sha256 for file, record in card.arrays.items()}
    for file, sha256 in (written | {CARD: hashlib.sha256(content).hexdigest()}).items():
        sums.written(folder / file, sha256)
    sums.save()


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


def _groups(name: str, entry: Entry, parts: Mapping[Part, Rows]) -> np.ndarray | None:
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


def _write_array(path: Path, array: np.ndarray) -> ArrayRecord:
    array = np.ascontiguousarray(array)
    with atomic_writer(path) as sink:
        np.lib.format.write_array_header_1_0(sink, np.lib.format.header_data_from_array_1_0(array))
        flat = array.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), CHUNK):
            sink.write(flat[start : start + CHUNK].data)
    return ArrayRecord(sha256=sink.sha256, bytes=sink.size, shape=array.shape, dtype=str(array.dtype))


def _part_sizes(entry: Entry, targets: Mapping[Part, Matrix], groups: np.ndarray | None) -> tuple[int, int]:
    """Return the numbers of training and test rows."""
    if isinstance(entry.split, RandomSplit | SampledSplit | FoldSplit):
        train, test = draw_split(entry.split, 0, *targets.values(), groups=groups)
        return len(train), len(test)
    return targets["train"].shape[0], targets["test"].shape[0]


def _card(
    name: str,
    entry: Entry,
    classes: tuple[str, ...],
    sizes: tuple[int, int],
    manifest: Manifest,
    arrays: dict[str, ArrayRecord],
) -> Card:
    return Card(
        name=name,
        title=entry.title,
        licence=entry.licence,
        citation=entry.citation,
        homepage=entry.homepage,
        target=entry.target,
        n_train=sizes[0],
        n_test=sizes[1],
        n_features=entry.expect.features,
        n_classes=entry.expect.classes,
        classes=classes,
        dtype=entry.dtype,
        scale=entry.scale,
        sparse=entry.sparse,
        split=entry.split,
        sources=tuple(
            RawFileOrigin(**record.model_dump(include=set(RawFileOrigin.model_fields)))
            for record in manifest.files
        ),
        arrays=arrays,
        recipe=recipe_of(entry),
    )
