"""Pictures of what protocols exhibit: points in the plane, histograms, images and box plots."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
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


def drawing(exhibit: BaseExhibit) -> Drawing | None:
    """Return how to draw an exhibit; None when there is nothing in it."""
    if exhibit.is_empty():
        return None
    picture = picture_of(exhibit)
    return Drawing(picture.draw, picture.size)


def as_png(exhibit: BaseExhibit) -> bytes | None:
    """Draw an exhibit as a PNG file, black on white and under its title; None when there is nothing in it."""
    if exhibit.is_empty():
        return None
    picture = picture_of(exhibit)

    def draw(figure: Figure) -> None:
        picture.draw(figure)
        figure.suptitle(exhibit.title, fontsize=9)

    width, height = picture.size
    return Drawing(draw, (width, height + 0.25)).png()


def is_wide(exhibit: BaseExhibit) -> bool:
    """Return whether the picture of an exhibit, which is not empty, needs a row of its own."""
    return picture_of(exhibit).size[0] > 1.2 * _WIDTH


def confusion_drawing(confusion: Confusion) -> Drawing:
    """Return how to draw a confusion matrix: shades are shares of the true class, the diagonal left white."""
    counts = np.array(confusion.matrix)
    wrong = counts * (1 - np.eye(len(counts), dtype=int))
    shares = wrong / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1.4 * max(shares.max(), 1e-9))
        for row, column in np.argwhere(counts):
            text = f"{counts[row, column]}"
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color="#14181d")
        names = [textwrap.shorten(label, 14, placeholder="…") for label in confusion.labels]
        tight = max(map(len, names)) > 3
        axes.set_xticks(range(len(names)), names, fontsize=8, rotation=90 if tight else 0)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_xlabel("predicted class")
        axes.set_ylabel("true class")
        axes.grid(False)

    side = 1.4 + 0.3 * len(counts)
    return Drawing(draw, (max(3.4, side), max(2.8, side - 0.4)))


class ExhibitPicture(ABC):
    """The picture of one exhibit, which is not empty, and its size in inches."""

    def __init__(self, exhibit: Any):
        self.exhibit = exhibit

    @property
    @abstractmethod
    def size(self) -> tuple[float, float]:
        """Width and height."""

    @abstractmethod
    def draw(self, figure: Figure) -> None:
        """Draw it into a figure of that size."""


def _wrapped(label: str) -> str:
    """Break the label of an axis that is longer than the axis."""
    return textwrap.fill(label, _LABEL_LETTERS)


class _ScatterPicture(ExhibitPicture):
    exhibit: Scatter

    @property
    def looks(self) -> dict[str, MarkerStyle]:
        """Numbers among the labels come in their order, and other labels after them."""
        labels = sorted(set(self.exhibit.labels), key=lambda label: (not label.isdigit(), len(label), label))
        return {label: marker_style(index) for index, label in enumerate(labels)}

    @property
    def named(self) -> dict[str, MarkerStyle]:
        return self.looks if 1 < len(self.looks) <= MAX_NAMES else {}

    @property
    def size(self) -> tuple[float, float]:
        return _WIDTH, 3.0

    def draw(self, figure: Figure) -> None:
        axes = figure.subplots()
        points = np.column_stack([self.exhibit.x, self.exhibit.y])
        labels = np.asarray(self.exhibit.labels)
        if len(points) > _MAX_VECTOR_POINTS:
            axes.set_rasterization_zorder(0)
        for label, style in self.looks.items():
            x, y = points[labels == label].T
            axes.plot(
                x,
                y,
                linestyle="none",
                markersize=3.5,
                markeredgewidth=0,
                alpha=0.75,
                zorder=-1,
                **style,
            )
        axes.set_xlabel(_wrapped(self.exhibit.x_label))
        axes.set_ylabel(_wrapped(self.exhibit.y_label))
        for label in self.named:
            x, y = np.median(points[labels == label], axis=0)
            axes.text(x, y, label, ha="center", va="center", fontsize=8, fontweight="bold", clip_on=True)


class _HistogramPicture(ExhibitPicture):
    exhibit: Histogram

    @property
    def looks(self) -> dict[str, MarkerStyle]:
        return {
            name: {
                "color": COLOURS[index % len(COLOURS)],
                "linestyle": _LINE_STYLES[index % len(_LINE_STYLES)],
            }
            for index, name in enumerate(self.exhibit.densities)
        }

    @property
    def size(self) -> tuple[float, float]:
        return _WIDTH, 2.6 + names_height(list(self.looks), _WIDTH)

    def draw(self, figure: Figure) -> None:
        axes = figure.subplots()
        for name, style in self.looks.items():
            heights = self.exhibit.densities[name]
            axes.stairs(heights, self.exhibit.edges, fill=True, color=style["color"], alpha=0.2, linewidth=0)
            axes.stairs(heights, self.exhibit.edges, linewidth=1.4, **style)
        if self.exhibit.marker is not None:
            _mark(axes, self.exhibit.marker)
        axes.set_xlabel(_wrapped(self.exhibit.x_label))
        axes.set_ylabel("density")
        axes.set_ylim(bottom=0)
        draw_names(figure, self.looks)


def _mark(axes: Axes, value: float) -> None:
    axes.axvline(value, color=INK, linewidth=1.0, linestyle=(0, (4, 2)))
    axes.annotate(
        f"{value:.4g}",
        (value, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, -1),
        textcoords="offset points",
        verticalalignment="top",
        fontsize=8,
    )


class _ImagesPicture(ExhibitPicture):
    exhibit: Images

    @property
    def n_columns(self) -> int:
        return max(map(len, self.exhibit.rows.values()))

    @property
    def size(self) -> tuple[float, float]:
        names = 0.25 + 0.075 * max(map(len, self.exhibit.rows))
        shape = self.exhibit.height / self.exhibit.width
        side = min(_IMAGE_INCHES, (_MAX_WIDTH - names) / self.n_columns)
        return max(1.5, names + side * self.n_columns), 0.15 + side * shape * len(self.exhibit.rows)

    def draw(self, figure: Figure) -> None:
        axes = figure.subplots()
        axes.imshow(_mosaic(self.exhibit, self.n_columns), interpolation="none")
        height = self.exhibit.height + _GAP_PIXELS
        axes.set_yticks(
            [row * height + (height - _GAP_PIXELS - 1) / 2 for row in range(len(self.exhibit.rows))],
            list(self.exhibit.rows),
        )
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.grid(False)
        axes.spines[:].set_visible(False)


def _mosaic(exhibit: Images, n_columns: int) -> NDArray[np.uint8]:
    """Lay out the images as grey pixels on a transparent ground, which compress well."""
    height, width = exhibit.height + _GAP_PIXELS, exhibit.width + _GAP_PIXELS
    mosaic = np.zeros(
        (height * len(exhibit.rows) - _GAP_PIXELS, width * n_columns - _GAP_PIXELS, 4), np.uint8
    )
    for row, images in enumerate(exhibit.rows.values()):
        for column, pixels in enumerate(images):
            image = mosaic[row * height :, column * width :][: exhibit.height, : exhibit.width]
            image[..., :3] = _grey(np.reshape(pixels, (exhibit.height, exhibit.width)))[..., np.newaxis]
            image[..., 3] = 255
    return mosaic


def _grey(image: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Scale to black and white; an image that is all the same becomes a middle grey."""
    low, high = image.min(), image.max()
    scaled = (image - low) / (high - low) if high > low else np.full_like(image, 0.5)
    return np.round(255 * scaled).astype(np.uint8)


class _BoxesPicture(ExhibitPicture):
    exhibit: Boxes

    @property
    def size(self) -> tuple[float, float]:
        width = min(_MAX_WIDTH, max(_WIDTH, 0.7 + _BOX_INCHES * len(self.exhibit.groups)))
        return width, 2.5 + (0.06 * self._longest if self._is_tight(width) else 0.0)

    @property
    def _longest(self) -> int:
        return max(map(len, self.exhibit.groups))

    def _is_tight(self, width: float) -> bool:
        """Return whether the names of the groups need to stand upright."""
        return 0.085 * (self._longest + 1) > (width - 0.7) / len(self.exhibit.groups)

    def draw(self, figure: Figure) -> None:
        axes = figure.subplots()
        names = ("whislo", "q1", "med", "q3", "whishi")
        boxes = [
            {**dict(zip(names, box, strict=True)), "label": label}
            for label, box in self.exhibit.groups.items()
        ]
        ink = {"color": INK}
        axes.bxp(
            boxes,
            widths=0.6,
            showfliers=False,
            patch_artist=True,
            boxprops={"facecolor": f"{COLOURS[0]}66", "edgecolor": COLOURS[0]},
            medianprops={"color": COLOURS[1], "linewidth": 1.6},
            whiskerprops=ink,
            capprops=ink,
        )
        axes.set_ylabel(_wrapped(self.exhibit.y_label))
        axes.grid(False, axis="x")
        if self._is_tight(figure.get_figwidth()):
            axes.tick_params(axis="x", rotation=90)


_PICTURES: dict[type[BaseExhibit], type[ExhibitPicture]] = {
    Scatter: _ScatterPicture,
    Histogram: _HistogramPicture,
    Images: _ImagesPicture,
    Boxes: _BoxesPicture,
}


def picture_of(exhibit: BaseExhibit) -> ExhibitPicture:
    """Return the picture of an exhibit.

    Raises
    ------
    KeyError
        If its kind has no class here that draws it.
    """
    return _PICTURES[type(exhibit)](exhibit)
