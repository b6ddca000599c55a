"""Sources of a suite: the papers that it reproduces or compares, as BibTeX."""

from __future__ import annotations

import re
from pathlib import Path

from eigenbench.bench.registry import near_match
from eigenbench.bench.suites.suite import Suite, SuiteError
from eigenbench.project_files import project_folder

#: The file of BibTeX entries in a folder of suites.
REFERENCES = "references.bib"


def cited_sources(suite: Suite) -> str:
    """Return the BibTeX entries of a suite's ``sources``, in their order.

    They stand in ``references.bib`` beside the suite's file, or in the one that comes with eigenbench.

    Raises
    ------
    SuiteError
        If the suite names no sources, or one that neither file has.
    """
    if not suite.sources:
        raise SuiteError(f"suite {suite.name!r} names no sources: list keys of {REFERENCES} under sources:")
    shipped = project_folder() / "config" / "suites"
    entries: dict[str, str] = {}
    for folder in dict.fromkeys([shipped, suite.folder or shipped]):
        entries |= _entries(folder / REFERENCES)
    for key in suite.sources:
        if key not in entries:
            raise SuiteError(
                f"suite {suite.name!r}: sources: {key!r} is no entry of {REFERENCES}."
                f"{near_match(key, list(entries))}"
            )
    return "\n".join(entries[key] for key in suite.sources)


def _entries(path: Path) -> dict[str, str]:
    """Return the entries of a BibTeX file by key; each begins a line with ``@``."""
    if not path.is_file():
        return {}
    parts = re.split(r"^(?=@)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = ((re.match(r"@\w+\{([^,\s]+),", part), part) for part in parts)
    return {match[1]: f"{part.rstrip()}\n" for match, part in found if match}
