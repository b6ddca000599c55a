"""Tables as they are shown: one description for the page, for LaTeX and for Markdown."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

#: What stands in a table where there is no number.
NONE = "–"

_GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"),
    *("nu", "xi", "", "pi", "rho", "", "sigma", "tau", "", "phi", "chi", "psi", "omega"),
)
_CAPITALS = {"Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Σ": "Sigma", "Φ": "Phi", "Ω": "Omega"}
# A bracket could be taken for an argument of the line break before it; LaTeX's first encoding lacks < > |.
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": "$-$",
        "[": "{[}",
        **{character: f"${character}$" for character in "<>|"},
        **{character: f"\\{character}" for character in "&%$#_{}"},
        **{chr(0x3B1 + place): rf"$\{name}$" for place, name in enumerate(_GREEK) if name},
        **{capital: rf"$\{name}$" for capital, name in _CAPITALS.items()},
        **{"→": r"$\rightarrow$", "≤": r"$\leq$", "≥": r"$\geq$", "◆": r"$\diamond$", "†": r"$\dagger$"},
    }
)


class Column(NamedTuple):
    """A column: its heading, whether it holds numbers, and whether it is hidden until a reader chooses it."""

    heading: str
    numeric: bool
    extra: bool


@dataclass(frozen=True)
class Cell:
    """One cell: its text, a second line in small letters, where it leads, and its classes of style."""

    text: str = NONE
    small: str = ""
    href: str = ""
    style: str = ""

    @property
    def line(self) -> str:
        """Both texts in one line."""
        return f"{self.text} {self.small}".strip()


@dataclass(frozen=True)
class Row:
    """One row: its cells by heading, the method to filter it by, its identifier, the group that it begins."""

    cells: Mapping[str, Cell]
    method: str = ""
    id: str = ""
    group: str = ""

    @classmethod
    def of(cls, cells: Mapping[str, Any], method: str = "", id: str = "", group: str = "") -> Row:
        """Make a row of cells and plain texts."""
        of_cells = {name: Cell(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}
        return cls(of_cells, method, id, group)


@dataclass(frozen=True)
class ShownTable:
    """A table with a caption, and at least one row; all have the same headings.

    ``name`` is that of its files, without the ending; ``numeric`` and ``extra`` are headings of columns that
    hold numbers, and that are hidden at first; ``header`` is the place of the column that names the rows;
    ``title`` a few words in place of the caption.
    """

    name: str
    caption: str
    rows: Sequence[Row]
    numeric: Collection[str] = ()
    extra: Collection[str] = ()
    header: int = 0
    title: str = ""

    @property
    def columns(self) -> list[Column]:
        """The columns, in the order of the cells."""
        return [Column(name, name in self.numeric, name in self.extra) for name in self.rows[0].cells]

    def frame(self) -> pd.DataFrame:
        """Return the columns that are shown at first, as text; groups of rows make a column, ``Source``."""
        shown = [column.heading for column in self.columns if not column.extra]
        found = pd.DataFrame([[row.cells[name].line for name in shown] for row in self.rows], columns=shown)
        if any(row.group for row in self.rows):
            groups = pd.Series([row.group or None for row in self.rows], dtype=object)
            found.insert(0, "Source", groups.ffill())
        return found

    def _strong(self) -> list[bool]:
        """Mark the rows of the best, and of what cannot be distinguished from it."""
        return [any("best" in cell.style for cell in row.cells.values()) for row in self.rows]

    def latex(self) -> str:
        """Return a ``table`` with the rules of booktabs."""
        shown = self.frame()
        bold = pd.DataFrame("", index=shown.index, columns=shown.columns)
        bold.loc[self._strong()] = "textbf:--rwrap;"
        style = shown.style.hide(axis="index").format(escape_latex).format_index(escape_latex, axis=1)
        return style.apply(lambda _: bold, axis=None).to_latex(
            column_format="".join("r" if heading in self.numeric else "l" for heading in shown.columns),
            hrules=True,
            position="htbp",
            position_float="centering",
            caption=escape_latex(self.caption),
            label=f"tab:{self.name}",
        )

    def markdown(self) -> str:
        """Return a table in the manner of GitHub, under its caption."""
        shown = self.frame().map(escape_markdown)
        aligned = ["right" if heading in self.numeric else "left" for heading in shown.columns]
        strong = self._strong()
        shown.loc[strong] = shown.loc[strong].map(lambda text: f"**{text}**")
        shown.columns = shown.columns.map(escape_markdown)
        table = shown.to_markdown(index=False, disable_numparse=True, colalign=aligned)
        return f"{escape_markdown(self.caption)}\n\n{table}\n"


def escape_latex(text: str) -> str:
    """Return text that LaTeX sets as it stands, in one line; letters that it lacks become ``?``."""
    line = " ".join(text.split())
    lacked = {one for one in line if not (ord(one) in _LATEX or one in "–—‘’“”…×·" or _is_letter(one))}
    known = "".join("?" if one in lacked else one for one in line)
    return re.sub("-(?=-)", "-{}", known.translate(_LATEX))


def _is_letter(character: str) -> bool:
    """Return whether LaTeX's encoding T1 has a character below U+0180."""
    return not 0x7F <= ord(character) < 0xA0 and ord(character) < 0x180 and character not in "ħĦŧŦŀĿĸŉſ"


def escape_markdown(text: str) -> str:
    """Return text that Markdown and HTML show as it stands, in one line."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|#~!$])", r"\\\1", plain)
