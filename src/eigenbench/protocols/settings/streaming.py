"""Settings of the protocol of doubly stochastic gradients."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from pydantic import Field, model_validator

from eigenbench.protocols.base import ProtocolSettings


class Settings(ProtocolSettings):
    """The stream, and the parameters of the learner.

    ``stream`` is ``deformed`` (deformed copies of the training images, made as they are read: none comes
    twice) or ``rows`` (the training rows, in a new random order for each pass). The test error is measured
    after each number of examples in ``checkpoints``; the last one ends the stream. The steps of a method
    before its last are fitted on the first ``preparation_rows`` examples.
    """

    stream: Literal["deformed", "rows"] = "rows"
    checkpoints: tuple[int, ...] = (4096, 16384, 65536, 262144, 1310720)
    preparation_rows: int = Field(default=16384, ge=1)
    n_components: int = Field(default=2048, ge=1)
    block_size: int = Field(default=256, ge=1)
    batch_size: int = Field(default=1024, ge=1)
    step_size: float = Field(default=1.0, gt=0, lt=2)
    halving: float = Field(default=10.0, gt=0)
    damping: float = Field(default=0.1, gt=0)
    alpha: float = Field(default=1e-6, ge=0)

    @model_validator(mode="after")
    def _whole_batches(self) -> Settings:
        ascending = all(after > before for before, after in pairwise((0, *self.checkpoints)))
        if not self.checkpoints or not ascending or any(n % self.batch_size for n in self.checkpoints):
            raise ValueError(
                f"checkpoints={self.checkpoints} must be ascending multiples of batch_size={self.batch_size}"
            )
        return self
