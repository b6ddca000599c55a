"""Parts of pages that scripts write between ``<!-- from NAME -->`` and ``<!-- end -->``."""

import re
from pathlib import Path

PART = re.compile(r"(<!-- from (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(headings: list[str], rows: list[list[str]]) -> str:
    """Lay out a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def write_parts(page: Path, parts: dict[str, str]) -> None:
    """Replace each part of a page by the text of its name."""
    text = page.read_text(encoding="utf-8")
    page.write_text(PART.sub(lambda at: f"{at[1]}{parts[at[2]]}{at[3]}", text), encoding="utf-8")
