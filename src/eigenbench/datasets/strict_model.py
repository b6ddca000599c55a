"""Base and common fields of the models of catalogue, manifest, card and recipes, and text from outside."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

#: Control characters but tab and line feed, marks of writing direction, line separators, lone surrogates.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(value: Any) -> Any:
    """Return a plain value in whose texts each control and bidirectional character is written out.

    Everything that comes from outside passes through this once, where records and titles are read: a
    terminal, page or table shows such a text as it is. Escapes of a format, such as HTML, are the writer's.

    Examples
    --------
    >>> printable({"title": "a\\x1b[2J", "rows": [3, "\\u202eb"]})
    {'title': 'a\\\\x1b[2J', 'rows': [3, '\\\\u202eb']}
    """
    if isinstance(value, str):
        return _INVISIBLE.sub(lambda found: ascii(found[0])[1:-1], value)
    if isinstance(value, dict):
        return {printable(key): printable(inner) for key, inner in value.items()}
    return [printable(inner) for inner in value] if isinstance(value, list) else value


def near_match(name: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name, or an empty string."""
    folded = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), list(folded), n=1, cutoff=0.5)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, AfterValidator(printable)]


class StrictModel(BaseModel):
    """Immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
