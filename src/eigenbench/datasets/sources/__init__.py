"""The kinds of source that the catalogue can name, each by a key of its own."""

from typing import Annotated, Any

from pydantic import BeforeValidator, SerializeAsAny, ValidationError, ValidationInfo

from eigenbench.datasets.plain_yaml import InnerError
from eigenbench.datasets.sources import local, remote
from eigenbench.datasets.sources.source import Source

SOURCES: dict[str, type[Source]] = {
    source.kind: source
    for source in (
        *(local.MirrorSource, local.PathSource, remote.UrlSource, remote.PackageSource, remote.SdistSource),
        *(local.InstalledSource, local.FolderSource, local.PartitionsSource),
    )
}


def _of_its_kind(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, dict):
        return value
    kind = next((kind for kind in SOURCES if kind in value), None)
    if kind is None:
        raise ValueError(f"a source needs one of the keys {', '.join(SOURCES)}")
    try:
        return SOURCES[kind].model_validate(value, context=info.context)
    except ValidationError as error:
        raise InnerError(error, SOURCES[kind]) from None


AnySource = Annotated[SerializeAsAny[Source], BeforeValidator(_of_its_kind)]
