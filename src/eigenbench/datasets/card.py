"""Records of a dataset on disk: manifest of raw files, lists of partitions, card of prepared files."""

import hashlib
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from eigenbench.datasets.errors import AlteredData, MalformedData, prepare_again
from eigenbench.datasets.splits import AnySplit
from eigenbench.datasets.storage import may_have_changed, partition_sum, sha256_of, write_atomically
from eigenbench.datasets.strict_model import FileName, Sha256, StrictModel

MANIFEST = "manifest.json"
CARD = "card.json"
#: The SHA-256 of the card, which is written last.
CARD_SUM = "card.sha256"
#: The file of a prepared folder that stands for the training rows.
TRAINING_FILES = "X_train.json"
LABEL_EDGES = "label_edges.npy"
GROUPS = "groups_all.npy"


class RawFileOrigin(StrictModel):
    """A raw file as stored and where it came from: kind of source, or ``found`` in place, and its text."""

    name: str
    sha256: Sha256
    bytes: int
    kind: str
    source: str


class FileRecord(RawFileOrigin):
    """One raw file as it was fetched.

    ``source_sha256`` is the sum of the user's own file or folder that it was made from, before any decoding,
    where the catalogue has no sum for it: another one there means that the file has to be made again.
    ``checked`` is when its source was read, or the file itself where it was in place (UTC).
    """

    source_sha256: Sha256 | None = None
    checked: datetime


class Manifest(StrictModel):
    """The raw files of a dataset and where each came from."""

    dataset: str
    files: tuple[FileRecord, ...]


def read_records(folder: Path) -> dict[str, FileRecord]:
    """Return the records of a raw folder's manifest by file, none for a missing or damaged manifest."""
    try:
        return {
            record.name: record
            for record in Manifest.model_validate_json((folder / MANIFEST).read_bytes()).files
        }
    except (OSError, ValidationError):
        return {}


class PartitionRecord(StrictModel):
    """A partition: its path or URL, and the SHA-256 of its bytes."""

    name: str
    sha256: Sha256


class PartitionList(StrictModel):
    """The partitions of one part of a dataset, in the order of their names."""

    files: tuple[PartitionRecord, ...]


class TrainingFiles(StrictModel):
    """Content of ``X_train.json``: partitions in their order, label column, labels in the order of codes."""

    files: tuple[PartitionRecord, ...]
    target: str | int | None
    labels: tuple[int, ...] | tuple[str, ...]


def read_training_files(path: Path) -> TrainingFiles:
    """Return the content of ``X_train.json``, whose sum the card has."""
    return TrainingFiles.model_validate_json(path.read_bytes())


class ArrayRecord(StrictModel):
    """Sum and bytes, header included, of a prepared ``.npy`` file or the list of training partitions."""

    sha256: Sha256
    bytes: int
    shape: tuple[int, ...]
    dtype: str


class Card(StrictModel):
    """Content of ``card.json``: the description of a prepared dataset, with the sums of its files.

    A random split has ``n_train`` and ``n_test`` rows with every split seed. ``dtype``, ``scale`` and
    ``sparse`` say how the features are stored; ``load`` divides uint8 features by ``scale``. A multiclass
    code or an indicator column is an index into ``classes``. ``sources`` are the raw files and where each
    came from, ``arrays`` the prepared files by name. ``recipe`` is the SHA-256 of everything that determines
    the arrays besides the raw files' sources; another recipe means that the dataset has to be prepared again.
    """

    name: str
    title: str
    licence: str
    citation: str
    homepage: str
    target: Literal["multiclass", "multilabel", "regression"]
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    classes: tuple[str, ...]
    dtype: Literal["float32", "uint8"]
    scale: float | None
    sparse: bool
    split: AnySplit
    sources: tuple[RawFileOrigin, ...]
    arrays: dict[FileName, ArrayRecord]
    recipe: Sha256


def write_card(folder: Path, card: Card) -> None:
    """Write the card of a prepared folder, and its sum."""
    content = card.model_dump_json(indent=2).encode()
    write_atomically(folder / CARD, content)
    write_atomically(folder / CARD_SUM, hashlib.sha256(content).hexdigest().encode())


def read_card(folder: Path) -> Card:
    """Return the card of a prepared folder; `MalformedData` if there is none, or an edited or damaged one."""
    with suppress(OSError, ValidationError):
        content = (folder / CARD).read_bytes()
        if (folder / CARD_SUM).read_bytes() == hashlib.sha256(content).hexdigest().encode():
            return Card.model_validate_json(content)
    raise MalformedData(folder / CARD, "card", "missing or damaged", prepare_again(folder))


def verify_prepared(folder: Path) -> Card:
    """Return the card of a folder that `prepare` wrote, or raise unless every file is the one written.

    All files are read; a partition is read if it was touched since. Raises `AlteredData` for a file with
    another SHA-256 than the card names; `MalformedData` for no card, a damaged or edited one, a file that is
    missing, or a partition that was edited; OSError for a file that can't be read.

    Examples
    --------
    >>> from eigenbench.datasets import prepare, resolve_data_dir, verify_prepared
    >>> _ = prepare("digits", progress=False)
    >>> verify_prepared(resolve_data_dir() / "prepared" / "digits").n_classes
    10
    """
    card = read_card(folder)
    for file, record in card.arrays.items():
        try:
            found = sha256_of(folder / file)
        except FileNotFoundError as error:
            raise MalformedData(folder / file, "file", "missing", prepare_again(folder)) from error
        if found != record.sha256:
            raise AlteredData(folder / file, record.sha256, found)
    if TRAINING_FILES in card.arrays:
        since = (folder / CARD).stat().st_mtime
        for partition in read_training_files(folder / TRAINING_FILES).files:
            check_partition(partition, since)
    return card


def check_partition(record: PartitionRecord, since: float) -> None:
    """Raise `MalformedData` for a partition that is missing, or was touched after a moment and is another."""
    try:
        if not may_have_changed(record.name, since):
            return
        found = partition_sum(record.name)
    except FileNotFoundError as error:
        raise MalformedData(record.name, "partition", "missing", "put it back, or prepare again") from error
    if found != record.sha256:
        problem = f"changed since it was prepared: expected SHA-256 {record.sha256}, found {found}"
        raise MalformedData(record.name, "partition", problem, "run the same command again")
