"""Comparisons of a prepared dataset with what was written, and with what catalogue and user have now."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from eigenbench.datasets.card import CARD, Card, FileRecord, read_card, read_records
from eigenbench.datasets.catalogue import Catalogue, CatalogueEntry, RawFile, load_catalogue
from eigenbench.datasets.errors import AlteredData, MalformedData, prepare_again
from eigenbench.datasets.file_sums import FileSums
from eigenbench.datasets.partition_records import TRAINING_FILES, partition_sum, read_training_files
from eigenbench.datasets.sources.source import SourceUnavailable
from eigenbench.datasets.storage import prepared_folder, raw_folder, resolve_data_dir

_FORMAT_VERSION = 2
_LOCAL_KINDS = ("mirror", "folder", "path", "partitions")


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
    sums = FileSums(folder)
    _verified_card(folder, sums)
    sums.save()


def _verified_card(folder: Path, sums: FileSums) -> Card:
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


def recipe_of(entry: CatalogueEntry) -> str:
    """Return the hash of what determines arrays and card: the entry without its sources, and our format."""
    # What is left out here does not change the arrays; new keys of this kind keep old data valid.
    what = entry.model_dump_json(
        exclude={"files": {"__all__": {"sources"}}, "supplied": True, "expect": {"exact_rows"}}
    )
    return hashlib.sha256(f"{_FORMAT_VERSION}{what}".encode()).hexdigest()


def is_current(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    catalogue: Catalogue | None = None,
    *,
    remember: bool = False,
) -> bool:
    """Return whether a dataset is prepared, unaltered, and made from what the user has now.

    Parameters
    ----------
    name : str
        Dataset name in the catalogue.
    data_dir : path-like, optional
        Default: ``$EIGENBENCH_DATA``, else the user's cache folder.
    catalogue : Catalogue, optional
        Default: the one that comes with eigenbench.

    remember : bool, default=False
        Write the sums of touched files into ``stamps.json`` beside them, so that they need not be read again.
        Without it nothing is written.

    Returns
    -------
    bool
        True if there is a card of the present recipe, `verify_prepared` passes, and the files whose sum the
        catalogue doesn't have are unchanged, in the raw folder and in the mirror. A raw file with a pinned
        sum may be missing. False also for whatever is damaged, missing or can't be read.

    Raises
    ------
    CatalogueError
        No such dataset.

    Notes
    -----
    About a millisecond while no file was touched; else every touched file is read.

    Examples
    --------
    >>> from eigenbench.datasets import is_current, prepare
    >>> _ = prepare("digits", progress=False)
    >>> is_current("digits")
    True
    """
    entry = (catalogue or load_catalogue()).entry(name)
    data = resolve_data_dir(data_dir)
    folder, raw = prepared_folder(data, name), raw_folder(data, name)
    prepared_sums, raw_sums = FileSums(folder), FileSums(raw)
    try:
        card = _verified_card(folder, prepared_sums)
        current = card.recipe == recipe_of(entry) and _own_files_are_unchanged(entry, card, raw, raw_sums)
    except (MalformedData, OSError):
        return False
    if remember:
        prepared_sums.save()
        raw_sums.save()
    return current


def _own_files_are_unchanged(entry: CatalogueEntry, card: Card, folder: Path, sums: FileSums) -> bool:
    used, records = {origin.name: origin.sha256 for origin in card.sources}, read_records(folder)
    return all(
        (record := records.get(file)) is not None
        and record.sha256 == used.get(file)
        and own_file_is_unchanged(folder / file, raw, record, sums)
        for file, raw in entry.files.items()
        if raw.sha256 is None
    )


def own_file_is_unchanged(path: Path, raw: RawFile, record: FileRecord, sums: FileSums) -> bool:
    """Return whether a raw file without a pinned sum is what its record says, and so is its source.

    Parameters
    ----------
    path : Path
        The file in the raw folder. Without it, its source must be there.
    raw : RawFile
        Its entry in the catalogue.
    record : FileRecord
        Its record in the manifest. A file that the user put in the raw folder has no other source; for one
        from the mirror, the first source that is there counts, and when there is none, the raw file alone.
    sums : FileSums
        Of the raw folder.
    """
    in_place = path.is_file()
    if in_place and sums.of_file(path) != record.sha256:
        return False
    if record.kind not in _LOCAL_KINDS:
        return in_place
    for source in raw.sources:
        with suppress(SourceUnavailable):
            found = source.own_sum(sums)
            return (str(source), found) == (f"{record.kind} {record.source}", record.source_sha256)
    return in_place
