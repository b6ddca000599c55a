"""Settings of the protocol of label structure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eigenbench.protocols.base import ProtocolSettings


class Settings(ProtocolSettings):
    """The hierarchy, and which labels are looked at.

    ``hierarchy`` is ``stored`` (the dataset has a graph of its labels) or ``rcv1_codes`` (their names are
    Reuters' topic codes, which spell it). Labels of fewer than ``min_rows`` training rows are left out.
    """

    hierarchy: Literal["stored", "rcv1_codes"] = "stored"
    min_rows: int = Field(default=1, ge=1)
