"""Settings of the protocol that shows detectors."""

from __future__ import annotations

from pydantic import Field, model_validator

from eigenbench.protocols.base import ProtocolSettings


class Settings(ProtocolSettings):
    """Which detectors are shown, as pictures and by their projections.

    Attributes
    ----------
    pairs : tuple of pairs of str
        Class names, numerator and denominator; the projections on the first pair's leading detector are
        shown class by class.
    pictures : int
        Detectors of each pair that are shown, those of largest eigenvalue.
    image : tuple of int
        Height and width of the inputs.
    """

    pairs: tuple[tuple[str, str], ...] = Field(min_length=1)
    pictures: int = Field(default=5, ge=1)
    image: tuple[int, int]

    @model_validator(mode="after")
    def _different(self) -> Settings:
        if any(numerator == denominator for numerator, denominator in self.pairs):
            raise ValueError("numerator and denominator of a pair are different classes")
        return self
