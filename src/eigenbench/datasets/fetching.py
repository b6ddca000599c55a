"""Fetch a dataset's raw files from the first source that gives the right bytes."""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from eigenbench.datasets.catalogue import Catalogue, RawFile, Sha256, Source, load_catalogue
from eigenbench.datasets.decoding import decode
from eigenbench.datasets.errors import ChecksumMismatch, DatasetUnavailable, MalformedData
from eigenbench.datasets.sources import SourceUnavailable, StagingArea, obtain
from eigenbench.datasets.storage import (
    TEMPORARY_PREFIX,
    atomic_writer,
    make_folder,
    raw_folder,
    resolve_data_dir,
    sha256_of,
    storage_errors,
    write_atomically,
)
from eigenbench.datasets.strict_model import StrictModel

_COMPRESSION_SLACK = 1 << 20
"""Bytes that a source's form of a file may exceed the file by: headers, or incompressible content."""

_SUPPLIED_LIMIT = 1 << 36
"""Most bytes of a file of unknown size, against decompression bombs."""


class SourceWarning(UserWarning):
    """A source gave other bytes than the catalogue describes; the next one is used."""


class FileRecord(StrictModel):
    """One raw file as it was fetched.

    Attributes
    ----------
    kind, source : str
        Kind of source and its text, ``found`` when the file was already in place.
    checked : datetime
        When the file's sum was verified and recorded (UTC).
    """

    name: str
    sha256: Sha256
    bytes: int
    kind: str
    source: str
    checked: datetime


class Manifest(StrictModel):
    """The raw files of a dataset and where each came from."""

    dataset: str
    files: tuple[FileRecord, ...]


def fetch(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    catalogue: Catalogue | None = None,
    progress: bool = True,
) -> Manifest:
    """Bring a dataset's raw files into ``<data_dir>/raw/<name>/``, each verified, and write its manifest.

    A file that is there with the right SHA-256 is kept, any other is replaced; sources are tried in the
    catalogue's order. A file appears under its name only when it is complete and verified.

    Parameters
    ----------
    name : str
        Dataset name in the catalogue.
    data_dir : path-like, optional
        Default: ``$EIGENBENCH_DATA``, else the user's cache folder.
    catalogue : Catalogue, optional
        Default: the one that comes with eigenbench.
    progress : bool, default=True
        Show what is downloaded, on standard error.

    Returns
    -------
    Manifest
        Also written to ``manifest.json`` beside the files.

    Raises
    ------
    CatalogueError
        No such dataset.
    DatasetUnavailable
        A file that no source gave, with every source's reason.
    StorageError, InsufficientSpace
        The data folder can't be written or is full; nothing half-written is left.

    Warns
    -----
    SourceWarning
        A source gave wrong bytes.

    Examples
    --------
    >>> from eigenbench.datasets import fetch
    >>> fetch("digits", progress=False).files[0].name
    'digits.csv'
    """
    entry = (catalogue or load_catalogue()).entry(name)
    folder = make_folder(raw_folder(resolve_data_dir(data_dir), name))
    path = folder / "manifest.json"
    earlier = _read_manifest(path)
    with _staging_area(folder, name, progress) as staging:
        records = tuple(
            _keep(folder / file, raw, earlier) or _fetch_file(folder / file, raw, staging, entry.supplied)
            for file, raw in entry.files.items()
        )
    manifest = Manifest(dataset=name, files=records)
    if {record.name: record for record in records} != earlier:
        write_atomically(path, manifest.model_dump_json(indent=2).encode())
    return manifest


@contextmanager
def _staging_area(folder: Path, name: str, progress: bool) -> Iterator[StagingArea]:
    with storage_errors(folder):
        temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=folder))
        try:
            yield StagingArea(temporary, name, progress)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _read_manifest(path: Path) -> dict[str, FileRecord]:
    try:
        return {record.name: record for record in Manifest.model_validate_json(path.read_bytes()).files}
    except (OSError, ValidationError):
        return {}


def _keep(path: Path, raw: RawFile, earlier: dict[str, FileRecord]) -> FileRecord | None:
    """Return the record of a file that is in place and has the right bytes."""
    if not path.is_file() or (raw.bytes is not None and path.stat().st_size != raw.bytes):
        return None
    found = sha256_of(path)
    if raw.sha256 is not None and found != raw.sha256:
        return None
    record = earlier.get(path.name)
    if record is not None and record.sha256 == found:
        return record
    return _record(path, found, "found", "already in the raw folder")


def _fetch_file(path: Path, raw: RawFile, staging: StagingArea, supplied: str | None) -> FileRecord:
    reasons = []
    for source in raw.sources:
        try:
            found = _install(path, raw, source, staging)
        except SourceUnavailable as error:
            reasons.append(f"{source}: {error}")
        except (ChecksumMismatch, MalformedData) as error:
            warnings.warn(SourceWarning(f"{staging.dataset}: {error}"), stacklevel=4)
            reasons.append(f"{source}: {error}")
        else:
            kind, _, text = str(source).partition(" ")
            return _record(path, found, kind, text)
    raise DatasetUnavailable(staging.dataset, path.name, reasons, path, supplied)


def _install(path: Path, raw: RawFile, source: Source, staging: StagingArea) -> str:
    """Put the file in place from one source and return its sum, or raise and leave nothing."""
    limit = _SUPPLIED_LIMIT if raw.bytes is None else 2 * raw.bytes + _COMPRESSION_SLACK
    obtained = obtain(source, staging, limit)
    if source.sha256 is not None and (found := sha256_of(obtained)) != source.sha256:
        raise ChecksumMismatch(path.name, source.sha256, found, str(source))
    with atomic_writer(path, raw.bytes or limit) as sink:
        decode(obtained, source.decode, sink, limit)
        if raw.sha256 is not None and sink.sha256 != raw.sha256:
            raise ChecksumMismatch(path.name, raw.sha256, sink.sha256, str(source))
        return sink.sha256


def _record(path: Path, sha256: str, kind: str, source: str) -> FileRecord:
    return FileRecord(
        name=path.name,
        sha256=sha256,
        bytes=path.stat().st_size,
        kind=kind,
        source=source,
        checked=datetime.now(UTC).replace(microsecond=0),
    )
