"""The error of everything that is wrong with a user's own data."""

from collections.abc import Iterable

from eigenbench.bench.registry import near_match
from eigenbench.datasets.errors import DatasetError


class OwnDataError(DatasetError):
    """The data or the options can't be used; the message is one sentence that says why."""


def unknown(kind: str, name: str, known: Iterable[str]) -> OwnDataError:
    """Return the error for a name that is not there, with the nearest that is."""
    names = [str(other) for other in known]
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return OwnDataError(f"there is no {kind} {name!r}.{near_match(name, names)} There are: {shown or 'none'}")
