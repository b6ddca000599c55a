"""Settings of the protocol that measures label embeddings on synthetic data of any size."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from eigenbench.protocols.base import ProtocolSettings


class Settings(ProtocolSettings):
    """What varies: without ``sizes`` nothing does, and the method is fitted once on all rows.

    ``vary`` names the axis that ``sizes`` lie on: the dimension k of the embedding, or the number n of rows,
    of which the first are taken. ``centred`` says whether the planted structure is that of labels less their
    mean, as for a method that fits an intercept.
    """

    vary: Literal["n_components", "n_rows"] = "n_components"
    sizes: tuple[int, ...] = Field(default=())
    centred: bool = True

    @model_validator(mode="after")
    def _positive(self) -> Settings:
        if any(size < 1 for size in self.sizes):
            raise ValueError(f"sizes={self.sizes} must be positive")
        return self
