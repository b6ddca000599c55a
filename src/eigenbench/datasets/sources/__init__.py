"""The kinds of source that the catalogue can name."""

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from eigenbench.datasets.sources.local import (
    FolderSource,
    InstalledSource,
    MirrorSource,
    PartitionsSource,
    PathSource,
)
from eigenbench.datasets.sources.remote import PackageSource, SdistSource, UrlSource

__all__ = [
    "AnySource",
    "FolderSource",
    "InstalledSource",
    "MirrorSource",
    "PackageSource",
    "PartitionsSource",
    "PathSource",
    "SdistSource",
    "UrlSource",
]

_KINDS = ("mirror", "path", "url", "package", "sdist", "installed", "folder", "partitions")


def _kind_of(value: Any) -> str | None:
    present = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    return next((kind for kind in _KINDS if kind in present), None)


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
        _kind_of,
        custom_error_type="source_kind",
        custom_error_message=f"a source needs one of the keys {', '.join(_KINDS)}",
    ),
]
