"""Records of a dataset on disk: manifest of raw files, lists of partitions, card of prepared files."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from eigenbench.datasets.errors import AlteredData, MalformedData, prepare_again
from eigenbench.datasets.splits import AnySplit
from eigenbench.datasets.storage import FileSums, partition_sum
from eigenbench.datasets.strict_model import FileName, Sha256, StrictModel

MANIFEST = "manifest.json"
CARD = "card.json"
#: The file of a prepared folder that stands for the training rows.
TRAINING_FILES = "X_train.json"
LABEL_EDGES = "label_edges.npy"
GROUPS = "groups_all.npy"


class RawFileOrigin(StrictModel):
    """A raw file as stored and where it came from: kind of source and its text.

    The kind is ``found`` when the file was already in place.
    """

    name: str
    sha256: Sha256
    bytes: int
    kind: str
    source: str


class FileRecord(RawFileOrigin):
    """One raw file as it was fetched.

    ``source_sha256`` is the sum of the user's own file or folder that it was made from, before any decoding,
    where the catalogue has no sum for it: another one there means that the file has to be made again.
    ``checked`` is when the file's sum was verified and recorded (UTC).
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
    """Content of ``X_train.json``: the partitions in their order, the column of the labels, and the labels.

    The labels are as the partitions have them, in the order of their codes.
    """

    files: tuple[PartitionRecord, ...]
    target: str | int | None
    labels: tuple[int, ...] | tuple[str, ...]


def read_training_files(path: Path) -> TrainingFiles:
    """Return the content of ``X_train.json``, whose sum the card has."""
    return TrainingFiles.model_validate_json(path.read_bytes())


class ArrayRecord(StrictModel):
    """One ``.npy`` file of the prepared folder, or the list of the partitions that hold the training rows.

    Sum and bytes are those of the whole file, header included. The sum of a list stands for those of the
    partitions in it.
    """

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


def read_card(folder: Path) -> Card | None:
    """Return the card of a prepared folder, or None when there is none or a damaged one."""
    try:
        return Card.model_validate_json((folder / CARD).read_bytes())
    except (OSError, ValidationError):
        return None


def verify_prepared(folder: Path) -> None:
    """Raise an error unless every file of a folder that `prepare` wrote is the one that was written.

    Files whose size, times and inode are those of ``stamps.json`` are not read. Others are compared by their
    SHA-256, and the stamps are renewed where all are right and the folder can be written. Raises
    `AlteredData` for a file with another SHA-256 than the card names, or a card that was edited;
    `MalformedData` for no card or a damaged one, a file that is missing, or a partition that was edited;
    OSError for a file that can't be read.

    Examples
    --------
    >>> from eigenbench.datasets import prepare, resolve_data_dir, verify_prepared
    >>> _ = prepare("digits", progress=False)
    >>> verify_prepared(resolve_data_dir() / "prepared" / "digits")
    """
    sums = FileSums(folder)
    verified_card(folder, sums)
    sums.save()


def verified_card(folder: Path, sums: FileSums) -> Card:
    """Return the card of a prepared folder, after the checks of `verify_prepared`; write nothing."""
    card = read_card(folder)
    if card is None:
        raise MalformedData(folder / CARD, "card", "missing or damaged", prepare_again(folder))
    expected = {file: record.sha256 for file, record in card.arrays.items()}
    expected[CARD] = sums.remembered(CARD) or sums.of_file(folder / CARD)
    for file, sha256 in expected.items():
        try:
            found = sums.of_file(folder / file)
            if found != sha256:  # unless only the stamps are damaged
                found = sums.of_file(folder / file, read=True)
        except FileNotFoundError as error:
            raise MalformedData(folder / file, "file", "missing", prepare_again(folder)) from error
        if found != sha256:
            raise AlteredData(folder / file, sha256, found)
    if TRAINING_FILES in card.arrays:
        for record in read_training_files(folder / TRAINING_FILES).files:
            try:
                found = partition_sum(record.name, sums)
            except FileNotFoundError as error:
                raise MalformedData(record.name, "partition", "missing", prepare_again(folder)) from error
            if found != record.sha256:
                problem = f"changed since it was prepared: expected SHA-256 {record.sha256}, found {found}"
                raise MalformedData(record.name, "partition", problem, "run the same command again")
    return card
