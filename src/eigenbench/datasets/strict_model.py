"""Base of the models of catalogue, manifest, card and recipes."""

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """Immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
