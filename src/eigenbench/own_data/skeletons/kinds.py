"""What can be begun, and the error of what cannot."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What ``eigenbench new`` writes."""

    METHOD = "method"
    DATASET = "dataset"
    SUITE = "suite"
    PROTOCOL = "protocol"


class SkeletonError(ValueError):
    """Nothing was written; the message says why, and what to do."""
