"""The manifest of a raw folder: which files it has and where each came from."""

from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from eigenbench.datasets.strict_model import Sha256, StrictModel

MANIFEST = "manifest.json"


class RawFileOrigin(StrictModel):
    """A raw file and where it came from.

    Attributes
    ----------
    sha256, bytes : str, int
        Of the file as stored.
    kind, source : str
        Kind of source and its text; ``found`` when the file was already in place.
    """

    name: str
    sha256: Sha256
    bytes: int
    kind: str
    source: str


class FileRecord(RawFileOrigin):
    """One raw file as it was fetched.

    Attributes
    ----------
    source_sha256 : str or None
        Sum of the user's own file or folder that it was made from, before any decoding, where the catalogue
        has no sum for it: another one there means that the file has to be made again.
    checked : datetime
        When the file's sum was verified and recorded (UTC).
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
