"""Datasets: the catalogue, where files come from, and their prepared form.

In: names of the catalogue. Out: prepared arrays on disk. ``load(name)`` runs ``fetch`` and ``prepare``;
``open_prepared`` needs neither network nor catalogue. Names are imported on first use.
Imports only `atomic_files`, and of `methods` the sparse and label utilities.
"""

from importlib import import_module
from typing import Any

_EXPORTS = {
    "AlteredData": "errors",
    "Card": "card",
    "Catalogue": "catalogue",
    "CatalogueError": "errors",
    "ChecksumMismatch": "errors",
    "Dataset": "dataset",
    "DatasetError": "errors",
    "DatasetUnavailable": "errors",
    "InsufficientSpace": "errors",
    "MalformedData": "errors",
    "Manifest": "card",
    "SourceWarning": "fetching",
    "StorageError": "errors",
    "fetch": "fetching",
    "is_current": "fetching",
    "load": "preparing",
    "load_catalogue": "catalogue",
    "open_prepared": "dataset",
    "prepare": "preparing",
    "resolve_data_dir": "storage",
    "verify_prepared": "card",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that light commands start fast."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("eigenbench"):
            raise
        raise ImportError(
            f"datasets need more than the estimators ({error}): pip install 'eigenbench[suite]'"
        ) from error


def __dir__() -> list[str]:
    return __all__
