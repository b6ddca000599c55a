"""Comparisons of a prepared dataset with what was written, and with what catalogue and user have now."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from eigenbench.datasets.card import Card, FileRecord, read_records, verified_card
from eigenbench.datasets.catalogue import Catalogue, CatalogueEntry, RawFile, load_catalogue
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.sources.source import SourceUnavailable
from eigenbench.datasets.storage import FileSums, prepared_folder, raw_folder, resolve_data_dir

_FORMAT_VERSION = 2
_LOCAL_KINDS = ("mirror", "folder", "path", "partitions")


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

    That is so if there is a card of the present recipe, `verify_prepared` passes, and the files whose sum the
    catalogue doesn't have are unchanged, in the raw folder and in the mirror. A raw file with a pinned sum
    may be missing. False also for whatever is damaged, missing or can't be read; `CatalogueError` for a name
    that is not in the catalogue. Takes about a millisecond while no file was touched; else every touched file
    is read, and with ``remember`` its sum written into ``stamps.json`` beside it, so that it need not be read
    again. Without it nothing is written. ``data_dir`` and ``catalogue`` are those of `prepare`.

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
        card = verified_card(folder, prepared_sums)
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

    A file that the user put in the raw folder has no other source; for one from the mirror, the first source
    that is there counts, and when there is none, the raw file alone. Without the file, its source must be
    there. ``sums`` are those of the raw folder.
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
