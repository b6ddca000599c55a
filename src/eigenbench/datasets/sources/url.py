"""Downloads from a publisher's address."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from eigenbench.datasets.archives import copy_zip_member
from eigenbench.datasets.sources.source import RelativePath, Source, SourceUnavailable, StagingArea
from eigenbench.datasets.storage import atomic_writer

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 60.0

_unreachable_hosts: dict[str, str] = {}
"""Host and why it couldn't be reached: further files of that host are skipped in this process."""


class UrlSource(Source):
    """An address of the dataset's publisher.

    ``member`` is the path inside the zip archive that the address gives, of which at most ``archive_bytes``
    are accepted; several files can share one download.
    """

    url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")]
    member: RelativePath | None = None
    archive_bytes: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _names_both_or_none(self) -> "UrlSource":
        if (self.member is None) != (self.archive_bytes is None):
            raise ValueError("member and archive_bytes go together")
        return self

    def __str__(self) -> str:
        return f"url {self.url}" + (f" {self.member}" if self.member else "")

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Download the file, or the archive that it is a member of, unless this fetch has it already."""
        if self.member is None or self.archive_bytes is None:
            return transfer(self.url, staging, staging.folder / "download", limit)
        archive = transfer_once(self.url, self.url, staging, self.archive_bytes)
        path = staging.folder / "member"
        with atomic_writer(path, limit) as sink:
            if not copy_zip_member(archive, self.member, sink):
                raise SourceUnavailable(f"the archive has no member {self.member}")
        return path


def transfer_once(key: str, url: str, staging: StagingArea, limit: int) -> Path:
    """Return the archive that this fetch has under ``key``, after downloading it if there is none."""
    if key not in staging.downloads:
        path = staging.folder / f"archive-{len(staging.downloads)}"
        staging.downloads[key] = transfer(url, staging, path, limit)
    return Path(staging.downloads[key])


def transfer(url: str, staging: StagingArea, path: Path, limit: int) -> Path:
    """Download at most ``limit`` bytes into ``path`` and return it.

    Raises `SourceUnavailable` for no connection within 10 s, an interrupted or refused transfer, or a host
    that failed before; `MalformedData` where the response is too large.
    """
    import pooch
    import requests

    host = urlsplit(url).netloc
    if host in _unreachable_hosts:
        raise SourceUnavailable(f"{host} could not be reached before ({_unreachable_hosts[host]})")
    staging.say(f"downloading {url}")
    fetch = pooch.HTTPDownloader(
        progressbar=staging.progress,
        chunk_size=1 << 16,
        timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
        headers={"Accept-Encoding": "identity"},
    )
    try:
        with atomic_writer(path, limit) as sink:
            fetch(url, sink, None)
    except requests.RequestException as error:
        if isinstance(error, requests.ConnectionError | requests.Timeout):
            _unreachable_hosts[host] = type(error).__name__
        raise SourceUnavailable(f"{type(error).__name__}: {error}") from error
    return path
