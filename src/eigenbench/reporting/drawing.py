"""Drawing of figures: one style, colours for everybody, axes that suit the numbers, files out."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

#: Colours that read on white and on near-black, and to the colour-blind (after Okabe and Ito).
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#c05f96",
    "#b98a00",
    "#3d9bd6",
    "#7b6bc7",
    "#85786a",
    "#79a63a",
    "#a4553d",
)
#: The colour of what is no method, and of methods that are too many for colours.
GREY = "#7d8790"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")

#: Drawn in this colour, then replaced by the text colour of the page.
INK = "#0a0b0c"

_SVG = "http://www.w3.org/2000/svg"
_LEFT_OUT = (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style")
ElementTree.register_namespace("", _SVG)
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")

#: An identifier of this form names the method of an element, and the text under the pointer.
_HOVER = re.compile(r"hover:(\S*) (.*)")

MarkerStyle = dict[str, Any]

_STYLE: dict[Any, Any] = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "figure.facecolor": "none",
    "grid.alpha": 0.15,
    "grid.color": INK,
    "axes.grid": True,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.bottom": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "ytick.left": False,
}
_EMBEDDED_DPI = 110
_PNG_DPI = 144
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Drawing:
    """A picture of ``size`` (width, height) inches: ``draw`` fills the axes of panels under each other."""

    draw: Callable[..., None]
    size: tuple[float, float]
    n_panels: int = 1
    title: str = ""

    def svg(self, key: str) -> Markup:
        """Return an SVG element that follows the page's light or dark text colour.

        The same input gives the same bytes. Identifiers depend on ``key``, which is unique on the page.
        """
        text = self._file("svg", {"Date": None, "Creator": None}, key).decode()
        return Markup(_compact(text, f"width:{self.size[0] * 96:.0f}px").replace(INK, "currentColor"))

    def png(self) -> bytes:
        """Return a PNG file, black on white, of 144 pixels an inch."""
        return self._file("png", {"Software": None})

    def pdf(self) -> bytes:
        """Return a PDF file, black on white, with its fonts."""
        return self._file("pdf", {"CreationDate": None, "Creator": None, "Producer": None})

    def _file(self, ending: str, metadata: dict[str, None], key: str | None = None) -> bytes:
        stream = io.BytesIO()
        paper, dpi = ("none", _EMBEDDED_DPI) if ending == "svg" else ("white", _PNG_DPI)
        with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_STYLE, "svg.hashsalt": key}):
            figure = Figure(figsize=self.size, layout="constrained")
            self.draw(*figure.subplots(self.n_panels, squeeze=False)[:, 0])
            if self.title:
                figure.suptitle(self.title, fontsize=9)
            figure.savefig(stream, format=ending, dpi=dpi, metadata=metadata, facecolor=paper)
        return stream.getvalue()


def hover_id(method: str, text: str = "") -> str:
    """Return the ``gid`` that gives an artist a method to filter it by, and a text on hover."""
    return f"hover:{method.replace(' ', '_')} {text}"


def marker_style(index: int) -> MarkerStyle:
    """Return colour and marker of a group by its place: a hundred pairs that differ."""
    turn, place = divmod(index, len(COLOURS))
    return {"color": COLOURS[place], "marker": MARKERS[(place + turn) % len(MARKERS)]}


def names_height(names: Sequence[str], width: float) -> float:
    """Return the inches that `draw_names` takes in a figure of some width."""
    return 0.17 * math.ceil(len(names) / _columns(names, width)) if names else 0.0


def draw_names(
    axes: Axes,
    styles: Mapping[str, MarkerStyle],
    place: Literal["outside upper center", "outside lower center"] = "outside lower center",
    methods: Mapping[str, str] | None = None,
) -> None:
    """Name the styles of points and lines above or below the axes; ``methods`` to filter the names by."""
    if not styles:
        return
    figure: Any = axes.figure
    n_rows = math.ceil(len(styles) / _columns(list(styles), figure.get_figwidth()))
    n_columns = math.ceil(len(styles) / n_rows)
    lines = [Line2D([], [], **{"linestyle": "none", **style}, label=name) for name, style in styles.items()]
    legend = figure.legend(
        handles=[line for column in range(n_columns) for line in lines[column::n_columns]],
        loc=place,
        ncols=n_columns,
        fontsize=8,
        handletextpad=0.1 if all("linestyle" not in style for style in styles.values()) else 0.5,
        columnspacing=1.0,
        borderaxespad=0.2,
    )
    for handle, name in zip(legend.legend_handles, legend.get_texts(), strict=True):
        if handle is not None and methods:
            for artist in (handle, name):
                artist.set_gid(hover_id(methods[name.get_text()]))


def _columns(names: Sequence[str], width: float) -> int:
    """Return how many names of a legend stand side by side in some inches."""
    return max(1, min(len(names), int(width / (0.35 + 0.068 * max(map(len, names))))))


def log_if_wide(axes: Axes, which: Literal["x", "y"], values: Sequence[float], *, least: float) -> bool:
    """Make an axis logarithmic, with plain ticks, if its values span at least a ratio; say whether it is."""
    span = max(values) / min(values) if values and min(values) > 0 else 0.0
    if not least <= span < math.inf:
        return False
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    multiples = (1.0,) if span > 300 else (1.0, 3.0) if span > 30 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=multiples, numticks=20))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))
    return True


def tick_text(value: float) -> str:
    """Write the number at a tick: plainly where that is short, else as a multiple of a power of ten.

    Examples
    --------
    >>> [tick_text(value) for value in (0.0005, 16384.0, 2e-7, 1e9)]
    ['0.0005', '16,384', '2×10⁻⁷', '10⁹']
    """
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        return f"{value:,.6f}".rstrip("0").rstrip(".")
    multiple, _, exponent = f"{value:.3e}".partition("e")
    multiple = multiple.rstrip("0").rstrip(".")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    return power if multiple == "1" else f"{multiple}×{power}"


def _compact(text: str, width: str) -> str:
    """Return the SVG element of a document of Matplotlib, with hover texts, without metadata and style."""
    root = ElementTree.fromstring(text)
    for element in list(root.iter()):
        element.tail = None
        element.text = element.text if (element.text or "").strip() else None
        element[:] = [part for part in element if part.tag not in _LEFT_OUT]
        _name_for_hover(element)
    for unused in ("height", "width", "version"):
        root.attrib.pop(unused, None)
    root.attrib |= {"aria-hidden": "true", "style": f"{width};stroke-linejoin:round"}
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")


def _name_for_hover(element: Element) -> None:
    """Give a marked element its method and title; only what is referred to keeps an identifier."""
    attributes = element.attrib
    if hover := _HOVER.fullmatch(attributes.get("id", "")):
        attributes["data-method"] = hover[1]
        if hover[2]:
            title = Element(f"{{{_SVG}}}title")
            title.text = hover[2]
            element.insert(0, title)
    if element.tag in (f"{{{_SVG}}}g", f"{{{_SVG}}}image"):  # to which nothing refers
        attributes.pop("id", None)
