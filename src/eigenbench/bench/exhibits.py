"""Exhibits: data of pictures that protocols leave in records, which reports and the dashboard draw.

A kind is a class here and a function that draws it in `eigenbench.reporting.exhibit_plots`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from eigenbench.datasets.strict_model import StrictModel

#: With more labels than this, a legend helps nobody.
MAX_NAMES = 32


class BaseExhibit(StrictModel, ABC):
    """The data of one picture."""

    title: str

    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether there is nothing to draw."""

    @abstractmethod
    def describe(self) -> str:
        """Say in one line what the picture shows, for readers who cannot see it."""

    def legend(self) -> str:
        """Say how the picture is to be read, where it does not say so itself."""
        return ""


class Scatter(BaseExhibit):
    """Points in the plane, coloured by label."""

    kind: Literal["scatter"] = "scatter"
    x: list[float]
    y: list[float]
    labels: list[str]
    x_label: str = ""
    y_label: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Scatter:
        if not len(self.x) == len(self.y) == len(self.labels):
            raise ValueError("x, y and labels must have one length")
        return self

    def is_empty(self) -> bool:
        """Return whether there are no points."""
        return not self.x

    def describe(self) -> str:
        """Say how many points and labels there are."""
        return f"Scatter plot of {len(self.x):,} points with {len(set(self.labels)):,} labels: {self.title}."

    def legend(self) -> str:
        """Say what to see, and what colours mean where they are too many to be named."""
        apart = "labels that lie apart are easy to separate"
        return f"one colour and shape per label; {apart}" if len(set(self.labels)) > MAX_NAMES else apart


class Histogram(BaseExhibit):
    """Densities of several groups over the same bins; ``marker`` is a value worth a vertical line."""

    kind: Literal["histogram"] = "histogram"
    edges: list[float]
    densities: dict[str, list[float]]
    x_label: str
    marker: float | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Histogram:
        if any(len(heights) != len(self.edges) - 1 for heights in self.densities.values()):
            raise ValueError("a group needs one density per bin")
        return self

    def is_empty(self) -> bool:
        """Return whether there are no groups."""
        return not self.densities

    def describe(self) -> str:
        """Say what is counted, of which groups, and what is marked."""
        marker = "" if self.marker is None else f" A line marks {self.marker:.4g}."
        return f"Histograms of {self.x_label} for {' and '.join(self.densities)}: {self.title}.{marker}"


class Images(BaseExhibit):
    """Grey pictures of one size in rows; each is a list of pixels, row by row, and is scaled on its own."""

    kind: Literal["images"] = "images"
    height: int = Field(gt=0)
    width: int = Field(gt=0)
    rows: dict[str, list[list[float]]]

    @model_validator(mode="after")
    def _consistent(self) -> Images:
        size = self.height * self.width
        if any(len(image) != size for images in self.rows.values() for image in images):
            raise ValueError("an image needs height * width pixels")
        return self

    def is_empty(self) -> bool:
        """Return whether no row has an image."""
        return not any(self.rows.values())

    def describe(self) -> str:
        """Say how large the images are, and how many are in each row."""
        rows = "; ".join(f"{len(images)} of {name}" for name, images in self.rows.items())
        return f"Images of {self.height} × {self.width} pixels, {rows}: {self.title}."

    def legend(self) -> str:
        """Say that shapes, and not grey levels, of two images can be compared."""
        return "each image scaled on its own, from black to white: compare shapes, not brightness"


class Boxes(BaseExhibit):
    """Five-number summaries (5, 25, 50, 75 and 95 %) of some groups."""

    kind: Literal["boxes"] = "boxes"
    groups: dict[str, tuple[float, float, float, float, float]]
    y_label: str

    def is_empty(self) -> bool:
        """Return whether there are no groups."""
        return not self.groups

    def describe(self) -> str:
        """Say what is summarized, and the median of each group."""
        medians = ", ".join(f"{name} {box[2]:.3g}" for name, box in self.groups.items())
        return f"Box plot of {self.y_label}: {self.title}. Medians: {medians}."

    def legend(self) -> str:
        """Say what boxes and whiskers are."""
        return "boxes from 25 to 75 %, whiskers from 5 to 95 %, lines at the median"


Exhibit = Annotated[Scatter | Histogram | Images | Boxes, Field(discriminator="kind")]


def rounded(values: np.ndarray, digits: int) -> list[float]:
    """Round to significant digits of the largest value, so that the text of a record stays short."""
    largest = float(np.abs(values).max(initial=0.0))
    decimals = digits - 1 - int(np.floor(np.log10(largest))) if largest > 0 else 0
    return np.round(values.astype(np.float64), decimals).tolist()
