"""Settings of the protocol of ensembles."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from eigenbench.protocols.base import ProtocolSettings


class Settings(ProtocolSettings):
    """How many members an ensemble has, and the classifier that each has on its own features.

    Attributes
    ----------
    members : int
        Members, which differ by their seeds and variants.
    variants : list of dict or None
        Parameters, ``step__parameter``, that the members' features have in turn; "passthrough" as the
        value of a ``step`` leaves it out. Not more than members.
    classifier : str
        One that makes its features block by block.
    params : dict
        Parameters of the classifier.
    """

    members: int = Field(default=5, ge=2)
    variants: tuple[dict[str, Any], ...] | None = Field(default=None, min_length=1)
    classifier: Literal["CalibratedLeastSquares", "SecondOrderLogistic"] = "CalibratedLeastSquares"
    params: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _no_idle_variants(self) -> Settings:
        if self.variants and len(self.variants) > self.members:
            raise ValueError(f"{len(self.variants)} variants need as many members, there are {self.members}")
        return self
