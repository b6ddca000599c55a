"""Errors of the datasets subsystem; each message names the file, the value and what to do."""

from collections.abc import Sequence
from pathlib import Path

from eigenbench.datasets.strict_model import printable


class DatasetError(Exception):
    """Anything that keeps a dataset from being fetched, prepared or opened; the message is printable."""

    def __init__(self, message: str):
        super().__init__(printable(message))


class CatalogueError(DatasetError):
    """The catalogue file can't be read, holds an unknown key, or lacks the dataset asked for."""


class ChecksumMismatch(DatasetError):
    """The bytes of a file in the raw folder are not the ones the catalogue was written for."""

    def __init__(self, file: str, expected: str, found: str, source: str):
        super().__init__(f"{file} from {source}: expected SHA-256 {expected}, found {found}")


FETCH_AGAIN = "delete the file and fetch the dataset again"


class MalformedData(DatasetError):
    """A file doesn't hold what its format or the catalogue promises.

    ``place`` is the line, byte offset or member where reading stopped, ``problem`` what was found there.
    """

    def __init__(self, file: str | Path, place: str, problem: str, remedy: str = FETCH_AGAIN):
        super().__init__(f"{file}, {place}: {problem}; {remedy}")
        self.file, self.place, self.problem = str(file), place, problem


def prepare_again(folder: Path) -> str:
    """Return the remedy for a prepared folder that is damaged."""
    return f"prepare the dataset again: delete {folder} and run the same command"


class AlteredData(MalformedData):
    """A file of a prepared dataset is not the one that was written, by its SHA-256."""

    def __init__(self, file: Path, expected: str, found: str):
        problem = f"altered since it was prepared: expected SHA-256 {expected}, found {found}"
        super().__init__(file, "whole file", problem, prepare_again(file.parent))


class DatasetUnavailable(DatasetError):
    """No source gave a file of the dataset.

    ``reasons`` has one line per source tried; the user may put the file at ``place`` by hand, and
    ``supplied`` says where to get one that can't be fetched.
    """

    def __init__(
        self, dataset: str, file: str, reasons: Sequence[str], place: Path, supplied: str | None = None
    ):
        tried = "".join(f"\n  - {reason}" for reason in reasons)
        remedy = supplied or "Connect to the network or to a package index"
        super().__init__(
            f"dataset {dataset!r}: no source gave {file}. Tried, in this order:{tried}\n"
            f"{remedy}{'. Then' if supplied else ', or'} set EIGENBENCH_MIRROR to a folder that holds "
            f"the dataset's files, or place the file at {place}"
        )
        self.reasons = tuple(reasons)


class StorageError(DatasetError):
    """The data folder can't be written; set EIGENBENCH_DATA or ``data_dir`` to one that can."""


class InsufficientSpace(StorageError):
    """The disk or quota of the data folder is used up."""
