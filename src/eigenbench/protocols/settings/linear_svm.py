"""Settings of the protocol that trains linear SVMs on features."""

from __future__ import annotations

from pydantic import Field

from eigenbench.protocols.base import ProtocolSettings


class Settings(ProtocolSettings):
    """The kernel ``(1 - |x - y|² / a²)^degree``, the sizes D, and the values of C to choose from.

    ``C`` is ascending. A method without steps is the exact kernel: a kernel machine, which chooses from
    ``exact_C``.
    """

    degree: int = Field(ge=1)
    a: float = Field(default=4.0, ge=2)
    sizes: tuple[int, ...] = (512, 1024, 2048, 4096, 8192, 16384)
    C: tuple[float, ...] = (1.0, 10.0, 100.0)
    exact_C: tuple[float, ...] = (1.0, 10.0, 100.0)
    validation_fraction: float = Field(default=1 / 6, gt=0, lt=1)
    tol: float = Field(default=1e-2, gt=0)
