"""Pictures of a fitted embedding for its record: detectors as images, rows in the plane, the spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbench.bench.exhibits import MAX_NAMES, Exhibit, Images, Scatter, rounded
from eigenbench.bench.jobs.supervision import Report

_N_IMAGES = 10
_N_POINTS = 400
_N_VALUES = 60
#: Attributes of fitted maps with a value for each direction.
_SPECTRA = ("eigenvalues_", "singular_values_")
#: Least mean correlation of neighbours in rows that are taken for images.
_LEAST_CORRELATION = 0.3


def pictures(features: Any, X: Any, y: Any, classes: Sequence[str]) -> Report:
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
    report: Report = {"exhibits": [one.model_dump(mode="json") for one in shown]}
    if values is not None and len(values) > 1:
        ends = np.abs(np.asarray(values, dtype=np.float64))[order[:_N_VALUES]]
        report["curves"] = {"spectrum_by_component": list(enumerate(rounded(ends, 4), start=1))}
    return report


def _directions(step: Any) -> NDArray[np.float64]:
    """Return the directions of a linear map in its rows; none for other steps."""
    if hasattr(step, "detectors_"):
        return np.asarray(step.detectors_).T
    components = np.asarray(getattr(step, "components_", ()))
    return components if components.ndim == 2 else np.empty((0, 0))


def _is_affine(part: Any, row: NDArray[Any]) -> bool:
    """Return whether steps are a linear map and an offset, as those of kernels are not."""
    once, twice, none = np.asarray(part.transform(np.vstack([row, 2 * row, 0 * row])))
    moved = twice - none
    return bool(np.allclose(moved, 2 * (once - none), rtol=1e-3, atol=1e-4 * np.abs(moved).max()))


def image_side(X: NDArray[np.float64]) -> int:
    """Return the side of the square images that rows are; 0 where they are none.

    Rows of a square number of values, at least 64, are images where values that are neighbours in a line
    and in a column are correlated.
    """
    side = int(np.sqrt(X.shape[1]))
    if side < 8 or side * side != X.shape[1]:
        return 0
    centred = X - X.mean(axis=0)
    scale = centred.std(axis=0)
    images = (centred / np.where(scale > 0, scale, np.inf)).reshape(-1, side, side)
    used = np.mean(scale > 0)
    pairs = (images[:, :, 1:] * images[:, :, :-1], images[:, 1:] * images[:, :-1])
    return side if all(pair.mean() / max(used, 0.1) > _LEAST_CORRELATION for pair in pairs) else 0
