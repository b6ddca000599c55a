"""Fetch a dataset's raw files from the first source that gives the right bytes; say what is up to date."""

import hashlib
import os
import tempfile
import warnings
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eigenbench.datasets.card import MANIFEST, Card, FileRecord, Manifest, read_records, verify_prepared
from eigenbench.datasets.catalogue import Catalogue, CatalogueEntry, RawFile, load_catalogue
from eigenbench.datasets.decoding import decode
from eigenbench.datasets.errors import ChecksumMismatch, DatasetUnavailable, MalformedData, StorageError
from eigenbench.datasets.sources.local import PartitionsSource
from eigenbench.datasets.sources.source import Source, SourceUnavailable, StagingArea
from eigenbench.datasets.storage import (
    TEMPORARY_PREFIX,
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
_LOCAL_KINDS = ("mirror", "folder", "path", "partitions")

_COMPRESSION_SLACK = 1 << 20
"""Bytes that a source's form of a file may exceed the file by: headers, or incompressible content."""

_SUPPLIED_LIMIT = 1 << 36
"""Most bytes of a file of unknown size, against decompression bombs."""


class SourceWarning(UserWarning):
    """A source gave other bytes than the catalogue describes; the next one is used."""


def fetch(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    catalogue: Catalogue | None = None,
    progress: bool = True,
) -> Manifest:
    """Bring a dataset's raw files into ``<data_dir>/raw/<name>/``, each verified, and write its manifest.

    A file that is there with the right SHA-256 is kept, any other is replaced: by a copy if another dataset
    of the catalogue has fetched it, else from its sources in the catalogue's order. A file appears under its
    name only when it is complete and verified. A file of the user's own, whose sum the catalogue doesn't
    have, is taken anew when its source in the mirror changed; one that was put or edited in the raw folder is
    kept as it is. ``data_dir`` is by default ``$EIGENBENCH_DATA``, else the user's cache folder. With
    ``progress``, downloads show on standard error.

    Raises `CatalogueError` for no such dataset; `DatasetUnavailable` for a file that no source gave, with
    every source's reason; `StorageError` where the data folder can't be written, `InsufficientSpace` where it
    is full: nothing half-written is left. A source with wrong bytes is a `SourceWarning`.

    Examples
    --------
    >>> from eigenbench.datasets import fetch
    >>> fetch("digits", progress=False).files[0].name
    'digits.csv'
    """
    catalogue = catalogue or load_catalogue()
    entry = catalogue.entry(name)
    data = resolve_data_dir(data_dir)
    folder = make_folder(raw_folder(data, name))
    earlier = read_records(folder)
    records = {file: _keep(folder / file, raw, earlier) for file, raw in entry.files.items()}
    if absent := [file for file, record in records.items() if record is None]:
        with (
            storage_errors(folder),
            tempfile.TemporaryDirectory(
                prefix=TEMPORARY_PREFIX, dir=folder, ignore_cleanup_errors=True
            ) as temporary,
        ):
            staging = StagingArea(Path(temporary), name, progress)
            for file in absent:
                path, raw = folder / file, entry.files[file]
                records[file] = _copy_from_another(path, raw, catalogue) or _fetch_file(
                    path, raw, staging, entry.supplied
                )
    found = {file: record for file, record in records.items() if record is not None}
    manifest = Manifest(dataset=name, files=tuple(found.values()))
    if found != earlier:
        # A folder that is complete and can't be written, such as one that a group shares, is used as it is.
        with suppress(*[] if absent else [StorageError]):
            write_atomically(folder / MANIFEST, manifest.model_dump_json(indent=2).encode())
    return manifest


def _keep(path: Path, raw: RawFile, earlier: dict[str, FileRecord]) -> FileRecord | None:
    """Return the record of a file that is in place and has the right bytes."""
    if not path.is_file() or (raw.bytes is not None and path.stat().st_size != raw.bytes):
        return None
    found = sha256_of(path)
    if raw.sha256 is not None and found != raw.sha256:
        return None
    record = earlier.get(path.name)
    if record is None and any(isinstance(source, PartitionsSource) for source in raw.sources):
        return None  # a list of partitions is of an unknown time: it is made anew
    if record is None or record.sha256 != found:
        there = "already in the raw folder"
        return _record(path, sha256=found, kind="found", source=there, checked=_now())
    unchanged = raw.sha256 is not None or own_file_is_unchanged(path, raw, record)
    return record if unchanged else None


def _copy_from_another(path: Path, raw: RawFile, catalogue: Catalogue) -> FileRecord | None:
    """Copy a file of known sum from the raw folder of another dataset; return its record there."""
    for name in catalogue.datasets:
        folder = path.parent.with_name(name)
        record = read_records(folder).get(path.name) if folder != path.parent else None
        if record is None or record.sha256 != raw.sha256:
            continue
        other = folder / path.name
        with suppress(FileNotFoundError, MalformedData, ChecksumMismatch):
            with atomic_writer(path, raw.bytes) as sink:
                decode(other, (), sink, record.bytes)
                if sink.sha256 != raw.sha256:
                    raise ChecksumMismatch(path.name, record.sha256, sink.sha256, str(other))
            return record
    return None


def _fetch_file(path: Path, raw: RawFile, staging: StagingArea, supplied: str | None) -> FileRecord:
    reasons = []
    for source in raw.sources:
        try:
            # Before the bytes are taken, so that a change in between shows in the next comparison.
            started = _now()
            source_sum = _source_sum(source, path, None) if raw.sha256 is None else None
            found = _install(path, raw, source, staging)
        except SourceUnavailable as error:
            reasons.append(f"{source}: {error}")
        except (ChecksumMismatch, MalformedData) as error:
            warnings.warn(SourceWarning(f"{staging.dataset}: {error}"), stacklevel=4)
            reasons.append(f"{source}: {error}")
        else:
            kind, _, text = str(source).partition(" ")
            fields = {"kind": kind, "source": text, "checked": started, "source_sha256": source_sum}
            return _record(path, sha256=found, **fields)
    raise DatasetUnavailable(staging.dataset, path.name, reasons, path, supplied)


def _install(path: Path, raw: RawFile, source: Source, staging: StagingArea) -> str:
    """Put the file in place from one source and return its sum, or raise and leave nothing."""
    limit = _SUPPLIED_LIMIT if raw.bytes is None else 2 * raw.bytes + _COMPRESSION_SLACK
    obtained = source.obtain(staging, limit)
    if source.sha256 is not None and (found := sha256_of(obtained)) != source.sha256:
        raise ChecksumMismatch(path.name, source.sha256, found, str(source))
    with atomic_writer(path, raw.bytes or limit) as sink:
        decode(obtained, source.decode, sink, limit)
        if raw.sha256 is not None and sink.sha256 != raw.sha256:
            raise ChecksumMismatch(path.name, raw.sha256, sink.sha256, str(source))
        return sink.sha256


def _source_sum(source: Source, path: Path, checked: datetime | None) -> str | None:
    """Return the sum of what the user has there now, and of the steps that decode it if there are any."""
    found = source.own_sum(path, checked)
    steps = " ".join(source.decode)
    return hashlib.sha256(f"{found} {steps}".encode()).hexdigest() if found and steps else found


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _record(path: Path, **fields: Any) -> FileRecord:
    return FileRecord(name=path.name, bytes=path.stat().st_size, **fields)


def recipe_of(entry: CatalogueEntry) -> str:
    """Return the hash of what determines arrays and card: the entry without its sources, and our format."""
    # What is left out here does not change the arrays; new keys of this kind keep old data valid.
    what = entry.model_dump_json(
        exclude={"files": {"__all__": {"sources"}}, "supplied": True, "expect": {"exact_rows"}}
    )
    return hashlib.sha256(f"{_FORMAT_VERSION}{what}".encode()).hexdigest()


def is_current(
    name: str, data_dir: str | os.PathLike[str] | None = None, catalogue: Catalogue | None = None
) -> bool:
    """Return whether a dataset is prepared, unaltered, and made from what the user has now.

    That is so if there is a card of the present recipe, `verify_prepared` passes, and the files whose sum the
    catalogue doesn't have are unchanged, in the raw folder and in the mirror. A raw file with a pinned sum
    may be missing. False also for whatever is damaged, missing or can't be read; `CatalogueError` for a name
    that is not in the catalogue. Reads the prepared files, about 1 GB/s, and writes nothing.

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
        card = verify_prepared(prepared_folder(data, name))
        return card.recipe == recipe_of(entry) and _own_files_are_unchanged(
            entry, card, raw_folder(data, name)
        )
    except (MalformedData, OSError):
        return False


def _own_files_are_unchanged(entry: CatalogueEntry, card: Card, folder: Path) -> bool:
    used, records = {origin.name: origin.sha256 for origin in card.sources}, read_records(folder)
    return all(
        (record := records.get(file)) is not None
        and record.sha256 == used.get(file)
        and own_file_is_unchanged(folder / file, raw, record)
        for file, raw in entry.files.items()
        if raw.sha256 is None
    )


def own_file_is_unchanged(path: Path, raw: RawFile, record: FileRecord) -> bool:
    """Return whether a raw file without a pinned sum is what its record says, and so is its source.

    A file put in the raw folder has no other source; of one from the mirror the first source that is there
    counts, if any. Without the file, its source must be there.
    """
    in_place = path.is_file()
    if in_place and sha256_of(path) != record.sha256:
        return False
    if record.kind not in _LOCAL_KINDS:
        return in_place
    for source in raw.sources:
        with suppress(SourceUnavailable):
            found = _source_sum(source, path, record.checked)
            return (str(source), found) == (
                f"{record.kind} {record.source}",
                record.source_sha256 or record.sha256,
            )
    return in_place
