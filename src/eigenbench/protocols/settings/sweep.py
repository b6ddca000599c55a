"""Settings of the protocol that measures an error against one parameter, or against the training rows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field, model_validator

from eigenbench.protocols.base import ProtocolSettings


class Settings(ProtocolSettings):
    """What is varied, and how each variant is trained and tested.

    Attributes
    ----------
    values : dict of str to tuple of float
        ``step__parameter`` and its values, ascending. Each method takes the one that names a step of its
        own. The error is that on validation rows.
    sizes : tuple of int
        In place of ``values``: numbers of training rows, ascending. The error is that on the test rows.
    axis : str
        Name of the curves' axis where ``values`` are varied, in words joined by underscores. "detectors"
        puts the number of columns that the varied step gives on it.
    unit : float
        Steps on the axis are whole numbers: the values divided by this, 0.001 for thousandths.
    train_rows, validation_rows : int
        Rows drawn to train on and to validate on where ``values`` are varied; all there are where they are
        fewer, of which the validation rows go first.
    classifier : str
        One that makes its features block by block.
    params : dict
        Parameters of the classifier.
    """

    values: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    axis: str = Field(default="value", pattern=r"^[a-z]+(_[a-z]+)*$")
    unit: float = Field(default=1.0, gt=0)
    train_rows: int = Field(default=10_000, ge=2)
    validation_rows: int = Field(default=5_000, ge=1)
    classifier: Literal["CalibratedLeastSquares", "SecondOrderLogistic"] = "CalibratedLeastSquares"
    params: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_thing_varies(self) -> Settings:
        if bool(self.values) == bool(self.sizes):
            raise ValueError("give either 'values' or 'sizes'")
        if any(size < 2 for size in self.sizes) or not _ascending(self.sizes):
            raise ValueError("'sizes' must be two or more rows, ascending")
        for name, values in self.values.items():
            if "__" not in name:
                raise ValueError(f"'values': {name!r} must name a step and its parameter, as gem__theta")
            if not values or not _ascending([round(value / self.unit) for value in values]):
                raise ValueError(f"'values' of {name} must ascend, by at least one 'unit' each")
        return self


def _ascending(steps: Iterable[int]) -> bool:
    return all(first < second for first, second in pairwise(steps))
