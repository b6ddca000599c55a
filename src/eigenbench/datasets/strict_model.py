"""Base and common fields of the models of catalogue, manifest, card and recipes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class StrictModel(BaseModel):
    """Immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
