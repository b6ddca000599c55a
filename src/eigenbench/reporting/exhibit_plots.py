"""Pictures of what protocols exhibit: points in the plane, histograms, images and box plots."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from eigenbench.bench.exhibits import MAX_NAMES, BaseExhibit, Boxes, Histogram, Images, Scatter
from eigenbench.bench.records.record import Confusion
from eigenbench.reporting.drawing import (
    COLOURS,
    INK,
    Drawing,
    MarkerStyle,
    draw_names,
    marker_style,
    names_height,
)

_WIDTH = 3.6
_MAX_WIDTH = 11.0
#: More points than this are embedded as one picture, which stays small however many there are.
_MAX_VECTOR_POINTS = 150
_IMAGE_INCHES = 0.55
_GAP_PIXELS = 1
_BOX_INCHES = 0.28
_LABEL_LETTERS = 28
_LINE_STYLES = ("-", "--", ":", "-.")


def drawing(exhibit: BaseExhibit) -> Drawing:
    """Return how to draw an exhibit."""
    return _DRAWINGS[type(exhibit)](exhibit)


def as_png(exhibit: BaseExhibit) -> bytes:
    """Draw an exhibit as a PNG file, black on white and under its title."""
    picture = drawing(exhibit)
    width, height = picture.size
    return replace(picture, size=(width, height + 0.25), title=exhibit.title).png()


def exhibit_files(exhibits: Sequence[BaseExhibit]) -> dict[str, bytes]:
    """Draw a run's exhibits; return the pictures as ``exhibits/<place>-<title>.png``."""
    titles = [re.sub(r"[^A-Za-z0-9]+", "-", exhibit.title).strip("-").lower()[:80] for exhibit in exhibits]
    named = enumerate(zip(titles, exhibits, strict=True), start=1)
    return {f"exhibits/{place:02d}-{title}.png": as_png(exhibit) for place, (title, exhibit) in named}


def is_wide(picture: Drawing) -> bool:
    """Return whether a picture needs a row of its own."""
    return picture.size[0] > 1.2 * _WIDTH


def confusion_drawing(confusion: Confusion) -> Drawing:
    """Return how to draw a confusion matrix: shades are shares of the true class, the diagonal left white."""
    counts = np.array(confusion.matrix)
    wrong = counts * (1 - np.eye(len(counts), dtype=int))
    shares = wrong / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def draw(axes: Axes) -> None:
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1.4 * max(shares.max(), 1e-9))
        for row, column in np.argwhere(counts):
            text = f"{counts[row, column]}"
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color="#14181d")
        names = [label if len(label) <= 14 else f"{label[:13]}…" for label in confusion.labels]
        tight = max(map(len, names)) > 3
        axes.set_xticks(range(len(names)), names, fontsize=8, rotation=90 if tight else 0)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_xlabel("predicted class")
        axes.set_ylabel("true class")
        axes.grid(False)

    side = 1.4 + 0.3 * len(counts)
    return Drawing(draw, (max(3.4, side), max(2.8, side - 0.4)))


def _wrapped(label: str) -> str:
    """Break the label of an axis that is longer than the axis."""
    return textwrap.fill(label, _LABEL_LETTERS)


def _scatter(exhibit: Scatter) -> Drawing:
    """Draw points by label, numbers in their order, each label named at its median where they are few."""
    names = sorted(set(exhibit.labels), key=lambda label: (not label.isdigit(), len(label), label))
    points, labels = np.column_stack([exhibit.x, exhibit.y]), np.asarray(exhibit.labels)

    def draw(axes: Axes) -> None:
        if len(points) > _MAX_VECTOR_POINTS:
            axes.set_rasterization_zorder(0)
        dots: MarkerStyle = {"linestyle": "none", "markersize": 3.5, "markeredgewidth": 0, "alpha": 0.75}
        for index, label in enumerate(names):
            axes.plot(*points[labels == label].T, zorder=-1, **dots, **marker_style(index))
        for label in names if 1 < len(names) <= MAX_NAMES else ():
            x, y = np.median(points[labels == label], axis=0)
            axes.text(x, y, label, ha="center", va="center", fontsize=8, fontweight="bold", clip_on=True)
        axes.set_xlabel(_wrapped(exhibit.x_label))
        axes.set_ylabel(_wrapped(exhibit.y_label))

    return Drawing(draw, (_WIDTH, 3.0))


def _histogram(exhibit: Histogram) -> Drawing:
    styles: dict[str, MarkerStyle] = {
        name: {"color": COLOURS[index % len(COLOURS)], "linestyle": _LINE_STYLES[index % len(_LINE_STYLES)]}
        for index, name in enumerate(exhibit.densities)
    }

    def draw(axes: Axes) -> None:
        for name, style in styles.items():
            heights = exhibit.densities[name]
            axes.stairs(heights, exhibit.edges, fill=True, color=style["color"], alpha=0.2, linewidth=0)
            axes.stairs(heights, exhibit.edges, linewidth=1.4, **style)
        if exhibit.marker is not None:
            axes.axvline(exhibit.marker, color=INK, linewidth=1.0, linestyle=(0, (4, 2)))
            text, place, unit = f"{exhibit.marker:.4g}", (exhibit.marker, 1.0), ("data", "axes fraction")
            axes.annotate(text, place, (3, -1), unit, "offset points", va="top", fontsize=8)
        axes.set_xlabel(_wrapped(exhibit.x_label))
        axes.set_ylabel("density")
        axes.set_ylim(bottom=0)
        draw_names(axes, styles)

    return Drawing(draw, (_WIDTH, 2.6 + names_height(list(styles), _WIDTH)))


def _images(exhibit: Images) -> Drawing:
    """Lay out rows of images, smaller where there are many."""
    n_columns = max(map(len, exhibit.rows.values()))
    names = 0.25 + 0.075 * max(map(len, exhibit.rows))
    side = min(_IMAGE_INCHES, (_MAX_WIDTH - names) / n_columns)
    height = 0.15 + side * exhibit.height / exhibit.width * len(exhibit.rows)

    def draw(axes: Axes) -> None:
        axes.imshow(_mosaic(exhibit, n_columns), interpolation="none")
        pitch = exhibit.height + _GAP_PIXELS
        middle = (exhibit.height - 1) / 2
        axes.set_yticks([row * pitch + middle for row in range(len(exhibit.rows))], list(exhibit.rows))
        axes.set_xticks([])
        axes.grid(False)
        axes.spines[:].set_visible(False)

    return Drawing(draw, (max(1.5, names + side * n_columns), height))


def _mosaic(exhibit: Images, n_columns: int) -> NDArray[np.uint8]:
    """Lay out the images as grey pixels on a transparent ground, which compress well."""
    shape = (exhibit.height, exhibit.width)
    gap = [(0, _GAP_PIXELS), (0, _GAP_PIXELS), (0, 0)]
    empty = np.zeros((*shape, 4), np.uint8)
    rows = []
    for images in exhibit.rows.values():
        tiles = [_grey(np.reshape(pixels, shape)) for pixels in images] + [empty] * (n_columns - len(images))
        rows.append(np.hstack([np.pad(tile, gap) for tile in tiles]))
    return np.vstack(rows)[:-_GAP_PIXELS, :-_GAP_PIXELS]


def _grey(image: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return opaque pixels from black to white; an image that is all the same becomes a middle grey."""
    low, high = image.min(), image.max()
    scaled = (image - low) / (high - low) if high > low else np.full_like(image, 0.5)
    grey = np.round(255 * scaled).astype(np.uint8)
    return np.dstack([grey, grey, grey, np.full_like(grey, 255)])


def _boxes(exhibit: Boxes) -> Drawing:
    """Draw five-number summaries; names that would touch stand upright."""
    width = min(_MAX_WIDTH, max(_WIDTH, 0.7 + _BOX_INCHES * len(exhibit.groups)))
    longest = max(map(len, exhibit.groups))
    tight = 0.085 * (longest + 1) > (width - 0.7) / len(exhibit.groups)

    def draw(axes: Axes) -> None:
        names = ("label", "whislo", "q1", "med", "q3", "whishi")
        boxes = [dict(zip(names, (label, *box), strict=True)) for label, box in exhibit.groups.items()]
        axes.bxp(
            boxes,
            widths=0.6,
            showfliers=False,
            patch_artist=True,
            boxprops={"facecolor": f"{COLOURS[0]}66", "edgecolor": COLOURS[0]},
            medianprops={"color": COLOURS[1], "linewidth": 1.6},
            whiskerprops={"color": INK},
            capprops={"color": INK},
        )
        axes.set_ylabel(_wrapped(exhibit.y_label))
        axes.grid(False, axis="x")
        if tight:
            axes.tick_params(axis="x", rotation=90)

    return Drawing(draw, (width, 2.5 + (0.06 * longest if tight else 0.0)))


_DRAWINGS: dict[type[BaseExhibit], Callable[[Any], Drawing]] = {
    Scatter: _scatter,
    Histogram: _histogram,
    Images: _images,
    Boxes: _boxes,
}
