"""Whether the files of a prepared dataset are still those that were written; cheap, and without numerics."""

from pathlib import Path

from eigenbench.datasets.card import CARD, Card, read_card
from eigenbench.datasets.errors import AlteredData, MalformedData, prepare_again
from eigenbench.datasets.file_sums import FileSums
from eigenbench.datasets.partition_records import TRAINING_FILES, partition_sum, read_training_files


def verify_prepared(folder: Path) -> None:
    """Raise an error unless every file of a prepared folder is the one that was written.

    Files whose size, times and inode are those of ``stamps.json`` are not read. Others are compared by their
    SHA-256, and the stamps are renewed where all are right and the folder can be written.

    Parameters
    ----------
    folder : Path
        A folder that `prepare` wrote.

    Raises
    ------
    AlteredData
        A file with another SHA-256 than the card names, or a card that was edited.
    MalformedData
        No card or a damaged one, a file that is missing, or a partition that was edited.
    OSError
        The operating system can't read a file.

    Examples
    --------
    >>> from eigenbench.datasets import prepare, resolve_data_dir, verify_prepared
    >>> _ = prepare("digits", progress=False)
    >>> verify_prepared(resolve_data_dir() / "prepared" / "digits")
    """
    verified_card(folder)


def verified_card(folder: Path) -> Card:
    """Return the card of a prepared folder, after the checks of `verify_prepared`."""
    card = read_card(folder)
    if card is None:
        raise MalformedData(folder / CARD, "card", "missing or damaged", prepare_again(folder))
    sums = FileSums(folder)
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
        _verify_partitions(folder, sums)
    sums.save()
    return card


def _verify_partitions(folder: Path, sums: FileSums) -> None:
    for record in read_training_files(folder / TRAINING_FILES).files:
        try:
            found = partition_sum(record.name, sums)
        except FileNotFoundError as error:
            raise MalformedData(record.name, "partition", "missing", prepare_again(folder)) from error
        if found != record.sha256:
            problem = f"changed since it was prepared: expected SHA-256 {record.sha256}, found {found}"
            raise MalformedData(record.name, "partition", problem, "run the same command again")
