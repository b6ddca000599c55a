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
            "detectors",
            "eigenbench.protocols.detectors",
            "detectors of pairs of classes as pictures, and how the classes respond to one of them",
            headline="test_response_ratio",
        ),
        Protocol(
            "ensemble",
            "eigenbench.protocols.ensemble",
            "error and cross entropy of an ensemble, against the number of its members",
            headline="error",
        ),
        Protocol(
            "kernel_error",
            "eigenbench.protocols.kernel_error",
            "how far inner products of features are from an exact kernel, against their number",
            headline="kernel_mse_at_4096",
        ),
        Protocol(
            "label_structure",
            "eigenbench.protocols.label_structure",
            "whether labels that are near in an embedding are siblings in a hierarchy, and the spectrum",
            headline="sibling_fraction",
        ),
        Protocol(
            "label_embedding_scale",
            "eigenbench.protocols.label_embedding_scale",
            "time of a label embedding on synthetic data, and how much of the planted structure it finds",
            headline="fit_seconds",
            exclusive=True,
        ),
        Protocol(
            "linear_svm",
            "eigenbench.protocols.linear_svm",
            "error of a linear SVM on features, against their number, beside the exact kernel",
            headline="test_error_at_2048",
        ),
        Protocol(
            "map_speed",
            "eigenbench.protocols.map_speed",
            "time and memory of a feature map, against a bare matrix product of the same shape",
            headline="transform_seconds_at_4096",
            exclusive=True,
        ),
        Protocol(
            "paired_comparison",
            "eigenbench.protocols.paired_comparison",
            "errors of variants of a method on the same draws of the data, and their differences",
            headline="reference_error",
        ),
        Protocol(
            "streaming",
            "eigenbench.protocols.streaming",
            "test error of doubly stochastic gradients, against examples seen",
            headline="test_error",
        ),
        Protocol(
            "sweep",
            "eigenbench.protocols.sweep",
            "error against a parameter of the features, or against the number of training rows",
            headline="validation_error",
        ),
        Protocol(
            "transfer",
            "eigenbench.protocols.transfer",
            "how well new classes are told apart from one example each, after learning on other classes",
            headline="nn_error",
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
