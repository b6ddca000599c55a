"""Downloads from a publisher's address."""

from pathlib import Path
from urllib.parse import urlsplit

from eigenbench.datasets.archives import copy_zip_member
from eigenbench.datasets.source_kinds import UrlSource
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea
from eigenbench.datasets.storage import atomic_writer

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 60.0

_unreachable_hosts: dict[str, str] = {}
"""Host and why it couldn't be reached: further files of that host are skipped in this process."""


def download(source: UrlSource, staging: StagingArea, limit: int) -> Path:
    """Download a file, or the archive that it is a member of, into the staging area and return its path.

    Parameters
    ----------
    source : UrlSource
        The address.
    staging : StagingArea
        Where the file goes, and whether a progress bar is shown.
    limit : int
        Most bytes of the file to accept.

    Raises
    ------
    SourceUnavailable
        No connection within 10 s, an interrupted or refused transfer, the host failed before, or the
        archive lacks the member.
    MalformedData
        The response or the member is too large, or the archive is damaged.
    """
    if source.member is None or source.archive_bytes is None:
        return transfer(source.url, staging, staging.folder / "download", limit)
    if source.url not in staging.archives:
        path = staging.folder / f"archive-{len(staging.archives)}"
        staging.archives[source.url] = transfer(source.url, staging, path, source.archive_bytes)
    path = staging.folder / "member"
    with atomic_writer(path, limit) as sink:
        if not copy_zip_member(staging.archives[source.url], source.member, sink):
            raise SourceUnavailable(f"the archive has no member {source.member}")
    return path


def transfer(url: str, staging: StagingArea, path: Path, limit: int) -> Path:
    """Download at most ``limit`` bytes into ``path`` and return it, or raise as `download` does."""
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
    except requests.HTTPError as error:
        raise SourceUnavailable(str(error)) from error
    except (requests.ConnectionError, requests.Timeout) as error:
        _unreachable_hosts[host] = type(error).__name__
        raise SourceUnavailable(f"{type(error).__name__}: {error}") from error
    except requests.RequestException as error:
        raise SourceUnavailable(f"{type(error).__name__}: {error}") from error
    return path
