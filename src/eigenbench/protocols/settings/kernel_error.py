"""Settings of the protocol that compares features with an exact kernel."""

from __future__ import annotations

from pydantic import Field

from eigenbench.protocols.base import ProtocolSettings


class Settings(ProtocolSettings):
    """The kernel ``(1 - |x - y|² / a²)^degree``, the sizes D, and how many rows make the pairs."""

    degree: float = Field(ge=1)
    a: float = Field(default=4.0, ge=2)
    sizes: tuple[int, ...] = (512, 1024, 2048, 4096, 8192, 16384)
    rows: int = Field(default=1000, ge=2)
