"""Protocols: experiments that measure something else than the error of a trained classifier.

A protocol takes one embedding with one seed and measures it: how far its kernel is from the exact one,
how well it transfers to new classes, how fast it is. The line below makes a protocol available to suites.
"""

from __future__ import annotations

from eigenbench.protocols.base import (
    Boxes,
    Exhibit,
    Histogram,
    Images,
    Outcome,
    Protocol,
    ProtocolSettings,
    Scatter,
    Trial,
)

PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "kernel_error",
            "eigenbench.protocols.kernel_error",
            "how far inner products of features are from an exact kernel, against their number",
            headline="kernel_mse_at_4096",
        ),
    )
}

__all__ = [
    "PROTOCOLS",
    "Boxes",
    "Exhibit",
    "Histogram",
    "Images",
    "Outcome",
    "Protocol",
    "ProtocolSettings",
    "Scatter",
    "Trial",
]
