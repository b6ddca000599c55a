"""The protocols that suites can name; a line here makes a module of this package available."""

from __future__ import annotations

from eigenbench.protocols.base import Protocol

PROTOCOLS: dict[str, Protocol] = {
    name: Protocol(name)
    for name in (
        "detectors",
        "ensemble",
        "kernel_error",
        "label_structure",
        "label_embedding_scale",
        "linear_svm",
        "map_speed",
        "paired_comparison",
        "real_targets",
        "streaming",
        "sweep",
        "transfer",
    )
}
