"""Base of the catalogue's models."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
