"""Exhibits: data of pictures that runs leave in records, which reports and the dashboard draw.

A kind is a class here and a function that draws it in `eigenbench.reporting.exhibit_plots`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from eigenbench.datasets.strict_model import StrictModel

#: With more labels than this, a legend helps nobody.
MAX_NAMES = 32

#: What the pictures of an embedding show.
_N_IMAGES = 10
_N_POINTS = 400
_N_VALUES = 60
#: Attributes of fitted maps with a value for each direction.
_SPECTRA = ("eigenvalues_", "singular_values_")
#: Least mean correlation of neighbours in rows that are taken for images.
_LEAST_CORRELATION = 0.3


class BaseExhibit(StrictModel, ABC):
    """The data of one picture, of which the field ``drawn`` has what is drawn."""

    drawn: ClassVar[str]
    explanation: ClassVar[str] = ""

    title: str

    def is_empty(self) -> bool:
        """Return whether there is nothing to draw."""
        content = getattr(self, self.drawn)
        return not any(content.values() if isinstance(content, dict) else [content])

    @abstractmethod
    def describe(self) -> str:
        """Say in one line what the picture shows, for readers who cannot see it."""

    def legend(self) -> str:
        """Say how the picture is to be read, where it does not say so itself."""
        return self.explanation


class Scatter(BaseExhibit):
    """Points in the plane, coloured by label."""

    drawn: ClassVar[str] = "x"

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

    def describe(self) -> str:
        """Say how many points and labels there are."""
        return f"Scatter plot of {len(self.x):,} points with {len(set(self.labels)):,} labels: {self.title}."

    def legend(self) -> str:
        """Say what to see, and what colours mean where they are too many to be named."""
        apart = "labels that lie apart are easy to separate"
        return f"one colour and shape per label; {apart}" if len(set(self.labels)) > MAX_NAMES else apart


class Histogram(BaseExhibit):
    """Densities of several groups over the same bins; ``marker`` is a value worth a vertical line."""

    drawn: ClassVar[str] = "densities"

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

    def describe(self) -> str:
        """Say what is counted, of which groups, and what is marked."""
        marker = "" if self.marker is None else f" A line marks {self.marker:.4g}."
        return f"Histograms of {self.x_label} for {' and '.join(self.densities)}: {self.title}.{marker}"


class Images(BaseExhibit):
    """Grey pictures of one size in rows; each is a list of pixels, row by row, and is scaled on its own."""

    drawn: ClassVar[str] = "rows"
    explanation: ClassVar[str] = (
        "each image scaled on its own, from black to white: compare shapes, not brightness"
    )

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

    def describe(self) -> str:
        """Say how large the images are, and how many are in each row."""
        rows = "; ".join(f"{len(images)} of {name}" for name, images in self.rows.items())
        return f"Images of {self.height} × {self.width} pixels, {rows}: {self.title}."


class Boxes(BaseExhibit):
    """Five-number summaries (5, 25, 50, 75 and 95 %) of some groups."""

    drawn: ClassVar[str] = "groups"
    explanation: ClassVar[str] = "boxes from 25 to 75 %, whiskers from 5 to 95 %, lines at the median"

    kind: Literal["boxes"] = "boxes"
    groups: dict[str, tuple[float, float, float, float, float]]
    y_label: str

    def describe(self) -> str:
        """Say what is summarized, and the median of each group."""
        medians = ", ".join(f"{name} {box[2]:.3g}" for name, box in self.groups.items())
        return f"Box plot of {self.y_label}: {self.title}. Medians: {medians}."


Exhibit = Annotated[Scatter | Histogram | Images | Boxes, Field(discriminator="kind")]


def rounded(values: np.ndarray, digits: int) -> list[float]:
    """Round to significant digits of the largest value, so that the text of a record stays short."""
    largest = float(np.abs(values).max(initial=0.0))
    decimals = digits - 1 - int(np.floor(np.log10(largest))) if largest > 0 else 0
    return np.round(values.astype(np.float64), decimals).tolist()


def pictures(features: Any, X: Any, y: Any, classes: Sequence[str]) -> dict[str, Any]:
    """Return ``exhibits`` and ``curves`` of a pipeline whose steps include a linear map, as records have.

    Its first step with ``detectors_`` or ``components_`` is shown; the plane shows 400 of the rows X with
    their class codes y. Empty without a linear map of dense class data.
    """
    steps = [] if features is None else [step for _, step in features.steps]
    place = next((place for place, step in enumerate(steps) if len(_directions(step))), None)
    if place is None or not isinstance(X, np.ndarray) or np.ndim(y) != 1:
        return {}
    step, part = steps[place], features[: place + 1]
    if not _is_affine(part, X[:1]):
        return {}
    directions = _directions(step)
    values = next(
        (found for key in _SPECTRA if len(found := getattr(step, key, ())) == len(directions)), None
    )
    order = np.arange(len(directions)) if values is None else np.argsort(-np.abs(values), kind="stable")
    chosen = np.random.default_rng(0).permutation(len(X))[:_N_POINTS]
    X, y = np.asarray(X[chosen], dtype=np.float64), np.asarray(y)[chosen]
    shown: list[Exhibit] = []
    if place == 0 and (side := image_side(X)):
        rows = {"leading": [rounded(directions[one], 3) for one in order[:_N_IMAGES]]}
        title = "Leading directions as images"
        shown.append(Images(title=title, height=side, width=side, rows=rows))
    if len(directions) > 1 and 1 < len(classes) <= MAX_NAMES:
        Z = part.transform(X)[:, order[:2]]
        shown.append(
            Scatter(
                title="Test rows in the plane of the two leading directions",
                x=rounded(Z[:, 0], 3),
                y=rounded(Z[:, 1], 3),
                labels=[str(classes[code]) for code in y],
                x_label="first direction",
                y_label="second direction",
            )
        )
    report: dict[str, Any] = {"exhibits": [one.model_dump(mode="json") for one in shown]}
    if values is not None and len(values) > 1:
        ends = np.abs(np.asarray(values, dtype=np.float64))[order[:_N_VALUES]]
        report["curves"] = {"spectrum_by_component": list(enumerate(rounded(ends, 4), start=1))}
    return report


def _directions(step: Any) -> np.ndarray:
    """Return the directions of a linear map in its rows; none for other steps."""
    if hasattr(step, "detectors_"):
        return np.asarray(step.detectors_).T
    components = np.asarray(getattr(step, "components_", ()))
    return components if components.ndim == 2 else np.empty((0, 0))


def _is_affine(part: Any, row: np.ndarray) -> bool:
    """Return whether steps are a linear map and an offset, as those of kernels are not."""
    once, twice, none = np.asarray(part.transform(np.vstack([row, 2 * row, 0 * row])))
    moved = twice - none
    return bool(np.allclose(moved, 2 * (once - none), rtol=1e-3, atol=1e-4 * np.abs(moved).max()))


def image_side(X: np.ndarray) -> int:
    """Return the side of the square images that rows are, by the correlation of neighbours; 0 for none."""
    side = int(np.sqrt(X.shape[1]))
    if side < 8 or side * side != X.shape[1]:
        return 0
    centred = X - X.mean(axis=0)
    scale = centred.std(axis=0)
    images = (centred / np.where(scale > 0, scale, np.inf)).reshape(-1, side, side)
    used = np.mean(scale > 0)
    pairs = (images[:, :, 1:] * images[:, :, :-1], images[:, 1:] * images[:, :-1])
    return side if all(pair.mean() / max(used, 0.1) > _LEAST_CORRELATION for pair in pairs) else 0
