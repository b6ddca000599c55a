"""Changes of the user's own files, those for which the catalogue has no sum."""

from contextlib import suppress
from pathlib import Path

from eigenbench.datasets.catalogue import RawFile
from eigenbench.datasets.file_sums import FileSums
from eigenbench.datasets.manifest import FileRecord
from eigenbench.datasets.source_kinds import FolderSource, MirrorSource, PartitionsSource, PathSource, Source
from eigenbench.datasets.sources.base import SourceUnavailable
from eigenbench.datasets.sources.folder import folder_stamp, folder_sum
from eigenbench.datasets.sources.mirror import mirror_file, own_file
from eigenbench.datasets.sources.partitions import listing_sum

_LOCAL_KINDS = ("mirror", "folder", "path", "partitions")


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
            found = own_source_sum(source, sums)
            return (str(source), found) == (f"{record.kind} {record.source}", record.source_sha256)
    return in_place


def own_source_sum(source: Source, sums: FileSums) -> str | None:
    """Return the SHA-256 of a local file, or of the tar of a folder or the list of partitions made for it.

    Returns
    -------
    str or None
        None for another kind of source.

    Raises
    ------
    SourceUnavailable
        The mirror lacks it.
    """
    if isinstance(source, FolderSource):
        return sums.of(str(source), folder_stamp(source), lambda: folder_sum(source))
    if isinstance(source, MirrorSource):
        return sums.of_file(mirror_file(source), name=str(source))
    if isinstance(source, PartitionsSource):
        return listing_sum(source, sums)
    if isinstance(source, PathSource):
        return sums.of_file(own_file(source), name=str(source))
    return None
