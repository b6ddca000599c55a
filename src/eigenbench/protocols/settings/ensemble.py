"""Settings of the protocol of ensembles."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from eigenbench.protocols.base import ProtocolSettings


class Settings(ProtocolSettings):
    """How many members an ensemble has, and the classifier that each has on its own features.

    Attributes
    ----------
    members : int
        Members, which differ by their seeds.
    classifier : str
        One that makes its features block by block.
    params : dict
        Parameters of the classifier.
    """

    members: int = Field(default=5, ge=2)
    classifier: Literal["CalibratedLeastSquares", "SecondOrderLogistic"] = "CalibratedLeastSquares"
    params: dict[str, Any] = Field(default_factory=dict)
