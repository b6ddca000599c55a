"""Whether a prepared dataset is still what was prepared; cheap, and without numerics."""

import os
from pathlib import Path

from eigenbench.datasets.card import CARD, Card, read_card, recipe_of
from eigenbench.datasets.catalogue import Catalogue, Entry, load_catalogue
from eigenbench.datasets.errors import AlteredData, MalformedData, prepare_again
from eigenbench.datasets.file_sums import FileSums
from eigenbench.datasets.manifest import read_records
from eigenbench.datasets.sources.own_files import own_file_is_unchanged
from eigenbench.datasets.storage import prepared_folder, raw_folder, resolve_data_dir


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
        No card or a damaged one, or a file that is missing.
    OSError
        The operating system can't read a file.

    Examples
    --------
    >>> from eigenbench.datasets import prepare, resolve_data_dir, verify_prepared
    >>> _ = prepare("digits", progress=False)
    >>> verify_prepared(resolve_data_dir() / "prepared" / "digits")
    """
    _verified_card(folder)


def is_current(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    catalogue: Catalogue | None = None,
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
    About a millisecond while no file was touched; else every touched file is read once.

    Examples
    --------
    >>> from eigenbench.datasets import is_current, prepare
    >>> _ = prepare("digits", progress=False)
    >>> is_current("digits")
    True
    """
    entry = (catalogue or load_catalogue()).entry(name)
    data = resolve_data_dir(data_dir)
    try:
        card = _verified_card(prepared_folder(data, name))
        return card.recipe == recipe_of(entry) and _own_files_are_unchanged(
            entry, card, raw_folder(data, name)
        )
    except (MalformedData, OSError):
        return False


def _verified_card(folder: Path) -> Card:
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
    sums.save()
    return card


def _own_files_are_unchanged(entry: Entry, card: Card, folder: Path) -> bool:
    own = {file: raw for file, raw in entry.files.items() if raw.sha256 is None}
    if not own:
        return True
    used = {origin.name: origin.sha256 for origin in card.sources}
    records, sums = read_records(folder), FileSums(folder)
    unchanged = all(
        (record := records.get(file)) is not None
        and record.sha256 == used.get(file)
        and own_file_is_unchanged(folder / file, raw, record, sums)
        for file, raw in own.items()
    )
    sums.save()
    return unchanged
