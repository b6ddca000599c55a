"""The files of runs: confusion matrices, exhibits, figures and paired differences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbench.bench.exhibits import Exhibit
from eigenbench.bench.records.record import Confusion
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.csv_files import csv_text
from eigenbench.tracking.summaries import Summary, by_rank

_PIXELS = 720
_CELL_WITH_COUNT = 28
_CELL_WITH_LABEL = 12
_TITLE = "Test examples: rows true, columns predicted; darker = larger share of the row"
_FILE_NAME_LENGTH = 80


def write_confusion(folder: Path, confusion: Confusion) -> None:
    """Write the counts as ``confusion.csv``, one row per true class, and draw ``confusion.png``.

    The picture is readable from two classes to a thousand and more: every class has a square of at least one
    pixel; labels are thinned and counts left out where they would not fit. The shade is the square root of
    the share, so that rare confusions show. Drawn pixel by pixel, it takes milliseconds, where a plotting
    library takes a tenth of a second.
    """
    from PIL import Image, ImageDraw

    rows = [[label, *row] for label, row in zip(confusion.labels, confusion.matrix, strict=True)]
    text = csv_text(["true \\ predicted", *confusion.labels], rows)
    (folder / "confusion.csv").write_text(text, encoding="utf-8", newline="")

    counts = np.asarray(confusion.matrix, dtype=np.float64)
    n_classes = len(counts)
    cell = max(1, min(48, _PIXELS // n_classes))
    font = _font()
    step = -(-_CELL_WITH_LABEL // cell)
    labels = [name if len(name) <= 14 else f"{name[:13]}…" for name in confusion.labels[::step]]
    margin = 12 + max(int(font.getlength(label)) for label in labels)
    top, size = 24, n_classes * cell
    width = max(margin + size + 8, int(font.getlength(_TITLE)) + 16)
    picture = Image.new("RGB", (width, top + size + margin), "white")
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shades = Image.fromarray(_shades(np.sqrt(shares))).resize((size, size), Image.Resampling.NEAREST)
    picture.paste(shades, (margin, top))
    draw = ImageDraw.Draw(picture)
    draw.text((8, 6), _TITLE, fill="black", font=font)
    draw.rectangle((margin - 1, top - 1, margin + size, top + size), outline="grey")
    for place, label in enumerate(labels):
        middle = place * step * cell + cell // 2
        draw.text((margin - 5, top + middle), label, fill="black", font=font, anchor="rm")
        upright = Image.new("RGB", (max(1, int(font.getlength(label)) + 1), 14), "white")
        ImageDraw.Draw(upright).text((0, 7), label, fill="black", font=font, anchor="lm")
        picture.paste(upright.rotate(90, expand=True), (margin + middle - 7, top + size + 4))
    if cell >= _CELL_WITH_COUNT:
        for row, column in np.argwhere(counts):
            place = (margin + column * cell + cell // 2, top + row * cell + cell // 2)
            colour = "white" if shares[row, column] > 0.3 else "black"
            draw.text(place, f"{int(counts[row, column])}", fill=colour, font=font, anchor="mm")
    picture.save(folder / "confusion.png", compress_level=1)


@lru_cache(maxsize=1)
def _font() -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size=11)


def _shades(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Blend from white to dark blue; values lie in [0, 1]."""
    white, blue = np.array([255.0, 255.0, 255.0]), np.array([8.0, 48.0, 107.0])
    return (white + values[..., np.newaxis] * (blue - white)).astype(np.uint8)


def write_exhibits(folder: Path, exhibits: Sequence[Exhibit]) -> None:
    """Draw a run's exhibits as ``exhibits/<place>-<title>.png`` in a folder; empty ones are left out."""
    if not exhibits:
        return
    from eigenbench.reporting.exhibit_plots import as_png

    for place, exhibit in enumerate(exhibits, start=1):
        picture = as_png(exhibit)
        if picture is not None:
            title = re.sub(r"[^A-Za-z0-9]+", "-", exhibit.title).strip("-").lower()[:_FILE_NAME_LENGTH]
            (folder / "exhibits").mkdir(exist_ok=True)
            (folder / "exhibits" / f"{place:02d}-{title}.png").write_bytes(picture)


def write_figures(folder: Path, experiment: str, spec: ExperimentSpec, summaries: Sequence[Summary]) -> None:
    """Draw the figures that the report has of an experiment as ``figures/<key>.svg`` in a folder."""
    from eigenbench.reporting.captioned_figures import experiment_figures

    for picture in experiment_figures(spec, [summary.runs for summary in summaries], experiment):
        (folder / "figures").mkdir(exist_ok=True)
        (folder / "figures" / f"{picture.key}.svg").write_text(picture.svg, encoding="utf-8")


def write_pairs(folder: Path, summaries: Sequence[Summary]) -> None:
    """Write ``paired_differences.csv``: the headline metric of each line less that of each column.

    A difference is the mean over the seeds that both have, in the unit of the metric; a cell without such
    seeds is empty. Methods stand by rank.
    """
    values = {
        item.runs.label: {
            record.seed: record.metrics[item.headline]
            for record in item.runs.finished
            if item.headline in record.metrics
        }
        for item in by_rank(summaries)
        if item.estimate
    }
    style = summaries[0].style
    rows = [
        [first, *(_difference(values[first], values[second], style.scale) for second in values)]
        for first in values
    ]
    text = csv_text([f"{style.heading}: line - column", *values], rows)
    (folder / "paired_differences.csv").write_text(text, encoding="utf-8", newline="")


def _difference(first: Mapping[int, float], second: Mapping[int, float], scale: float) -> float | None:
    shared = first.keys() & second.keys()
    if not shared:
        return None
    return float(f"{scale * fmean(first[seed] - second[seed] for seed in shared):.6g}")
