"""The protocols that suites can name; a line here makes a module of this package available."""

from __future__ import annotations

import re
from pathlib import Path

from eigenbench.bench.components import folder_of, make_importable
from eigenbench.bench.protocols.base import Protocol, ProtocolSettings

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

_OWN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:measure")


def find_protocol(name: str, folder: Path | None = None) -> Protocol:
    """Return a protocol by what a suite calls it.

    Parameters
    ----------
    name : str
        One of `PROTOCOLS`, or ``package.module:measure`` for one of the user's own, whose module is imported.
    folder : Path, optional
        Where that module may lie if it is not installed: the folder of the suite.

    Raises
    ------
    KeyError
        If there is no protocol of that name.
    ValueError
        If the module cannot be imported, or does not define ``Settings`` and ``measure``.
    """
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if not _OWN.fullmatch(name):
        raise KeyError(name)
    found = Protocol(name)
    if place := folder_of(found.module, folder):
        make_importable(place)
    try:
        module = found.load()
    except ModuleNotFoundError as error:
        top = found.module.partition(".")[0]
        if error.name != top:
            raise ValueError(f"{name}: importing it fails: {error}") from error
        beside = "" if folder is None else f", or put {top}.py into {folder}"
        raise ValueError(f"{name}: there is no module {top!r}: install its package{beside}") from error
    except Exception as error:
        raise ValueError(f"{name}: importing it fails: {type(error).__name__}: {error}") from error
    settings = getattr(module, "Settings", None)
    if not (isinstance(settings, type) and issubclass(settings, ProtocolSettings)):
        raise ValueError(f"{name}: its module defines no class 'Settings' derived from ProtocolSettings")
    if not callable(getattr(module, "measure", None)):
        raise ValueError(f"{name}: its module defines no function 'measure(trial)'")
    return found
