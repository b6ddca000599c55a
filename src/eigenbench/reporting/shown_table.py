"""Tables as they are shown: one description for the page, for LaTeX and for Markdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Column:
    """A column: its heading, whether it holds numbers, and whether it is hidden until a reader chooses it."""

    heading: str
    numeric: bool = False
    extra: bool = False


def columns_of(*headings: str, numeric: Collection[str] = ()) -> list[Column]:
    """Return columns that are shown at first, of which some hold numbers."""
    return [Column(heading, heading in numeric) for heading in headings]


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
    """One row: its cells, the method to filter it by, its identifier, and the group that it begins."""

    cells: tuple[Cell, ...]
    method: str = ""
    id: str = ""
    group: str = ""


@dataclass(frozen=True)
class ShownTable:
    """A table with a caption, and rows that have a cell for each column.

    ``name`` is that of its files, without the ending; ``header`` the place of the column that names the rows;
    ``title`` a few words in place of the caption.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    header: int = 0
    title: str = ""

    def frame(self) -> pd.DataFrame:
        """Return the columns that are shown at first, as text; groups of rows make a column, ``Source``."""
        places = [place for place, column in enumerate(self.columns) if not column.extra]
        cells = [[row.cells[place].line for place in places] for row in self.rows]
        found = pd.DataFrame(cells, columns=[self.columns[place].heading for place in places], dtype=str)
        if any(row.group for row in self.rows):
            groups = pd.Series([row.group or None for row in self.rows], dtype=object)
            found.insert(0, "Source", groups.ffill())
        return found

    def _is_number(self, heading: str) -> bool:
        return any(column.numeric for column in self.columns if column.heading == heading)

    def _strong(self) -> list[int]:
        """Return the places of the rows of the best, and of what cannot be distinguished from it."""
        return [
            place for place, row in enumerate(self.rows) if any("best" in cell.style for cell in row.cells)
        ]

    def latex(self) -> str:
        """Return a ``table`` with the rules of booktabs."""
        shown = self.frame()
        bold = pd.DataFrame("", index=shown.index, columns=shown.columns)
        bold.loc[self._strong()] = "textbf:--rwrap;"
        style = shown.style.hide(axis="index").format(escape_latex).format_index(escape_latex, axis=1)
        return style.apply(lambda _: bold, axis=None).to_latex(
            column_format="".join("r" if self._is_number(heading) else "l" for heading in shown.columns),
            hrules=True,
            position="htbp",
            position_float="centering",
            caption=escape_latex(self.caption),
            label=f"tab:{self.name}",
        )

    def markdown(self) -> str:
        """Return a table in the manner of GitHub, under its caption."""
        shown = self.frame().map(escape_markdown)
        aligned = ["right" if self._is_number(heading) else "left" for heading in shown.columns]
        strong = self._strong()
        shown.loc[strong] = shown.loc[strong].map(lambda text: f"**{text}**")
        shown.columns = shown.columns.map(escape_markdown)
        table = shown.to_markdown(index=False, disable_numparse=True, colalign=aligned)
        return f"{escape_markdown(self.caption)}\n\n{table}\n"


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX sets as it stands, in one line; letters that it lacks become ``?``.

    Examples
    --------
    >>> print(escape_latex("deep_gem & 95 %\n"), escape_latex("Ω"))
    deep\_gem \& 95 \% $\Omega$
    """
    known = "".join(
        character if ord(character) in _LATEX or ord(character) < 0x180 or character in "–—‘’“”…×·" else "?"
        for character in " ".join(text.split())
    )
    return known.translate(_LATEX)


def escape_markdown(text: str) -> str:
    r"""Return text that Markdown shows as it stands, in one line of a table.

    Examples
    --------
    >>> print(escape_markdown("a|b\n*c*"))
    a\|b \*c\*
    """
    line = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\`*_|<[" else character for character in line)
