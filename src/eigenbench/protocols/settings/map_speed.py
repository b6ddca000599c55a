"""Settings of the protocol that times feature maps."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from eigenbench.protocols.base import ProtocolSettings


class Settings(ProtocolSettings):
    """What varies, and the shape of the rest.

    ``vary`` names the axis that ``sizes`` lie on: the number of features D, or the number of inputs d, where
    columns are drawn with replacement from the dataset's and D is ``n_components``. ``rows`` are drawn with
    replacement from the training rows, made dense float32 and scaled to unit length.
    """

    vary: Literal["n_components", "n_inputs"] = "n_components"
    sizes: tuple[int, ...] = (512, 1024, 2048, 4096, 8192, 16384)
    n_components: int | None = Field(default=None, ge=1)
    rows: int = Field(default=2000, ge=1)
    repeats: int = Field(default=5, ge=1)
    threads: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _one_axis(self) -> Settings:
        if (self.vary == "n_inputs") != (self.n_components is not None):
            raise ValueError("n_components belongs to vary: n_inputs, and only there")
        return self
