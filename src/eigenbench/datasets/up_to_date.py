"""Whether a dataset is prepared from what the catalogue says and what the user has now."""

import hashlib
import os
from pathlib import Path

from eigenbench.datasets.card import Card
from eigenbench.datasets.catalogue import Catalogue, Entry, load_catalogue
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.file_sums import FileSums
from eigenbench.datasets.manifest import read_records
from eigenbench.datasets.sources.own_files import own_file_is_unchanged
from eigenbench.datasets.storage import prepared_folder, raw_folder, resolve_data_dir
from eigenbench.datasets.verification import verified_card

_FORMAT_VERSION = 2


def recipe_of(entry: Entry) -> str:
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
        card = verified_card(prepared_folder(data, name))
        return card.recipe == recipe_of(entry) and _own_files_are_unchanged(
            entry, card, raw_folder(data, name)
        )
    except (MalformedData, OSError):
        return False


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
