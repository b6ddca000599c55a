"""The protocols that suites can name: the modules of this package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from eigenbench.bench.components import folder_of, make_importable
from eigenbench.bench.protocols.base import ProtocolSettings, settings_class
from eigenbench.bench.registry import near_match, why_not_imported


@dataclass(frozen=True)
class Protocol:
    """A protocol: the module ``eigenbench.bench.protocols.<name>``, or that of ``module:measure``.

    That module defines one class of settings, a `ProtocolSettings`, and ``measure(trial) -> Outcome``; the
    first line of its docstring is the protocol's summary. It imports scikit-learn, SciPy and estimators only
    when measuring, so that a suite is checked without them.
    """

    name: str

    @property
    def module(self) -> str:
        """The import path."""
        module, colon, _ = self.name.partition(":")
        return module if colon else f"eigenbench.bench.protocols.{self.name}"

    @property
    def summary(self) -> str:
        """One line for ``eigenbench list protocols``."""
        return (self.load().__doc__ or "").partition("\n")[0]

    def settings(self) -> type[ProtocolSettings]:
        """Return the protocol's settings class."""
        return settings_class(self.load())

    def load(self) -> Any:
        """Import and return the module."""
        return import_module(self.module)


#: Modules of this package that are no protocol.
_SHARED = ("available", "base", "transfer_tasks")
PROTOCOLS: dict[str, Protocol] = {
    found.name: Protocol(found.name)
    for found in iter_modules([str(Path(__file__).parent)])
    if found.name not in _SHARED
}

_OWN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:measure")


def find_protocol(name: str, folder: Path | None = None) -> Protocol:
    """Return a protocol by its name, or by ``package.module:measure`` for one of the user's own.

    The module is imported; ``folder``, the suite's, is where it may lie if it is not installed. Raises a
    ValueError if there is none of that name, the module cannot be imported, or does not define one class of
    settings and ``measure``.
    """
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if not _OWN.fullmatch(name):
        known = [*PROTOCOLS, "module:measure"]
        raise ValueError(f"unknown protocol {name!r}.{near_match(name, known)} Known: {', '.join(known)}")
    found = Protocol(name)
    if place := folder_of(found.module, folder):
        make_importable(place)
    try:
        module = found.load()
    except Exception as error:
        raise ValueError(f"{name}: {why_not_imported(found.module, folder, error)}") from error
    settings_class(module)
    if not callable(getattr(module, "measure", None)):
        raise ValueError(f"{name}: its module defines no function 'measure(trial)'")
    return found
