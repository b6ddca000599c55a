"""The files of runs: confusion matrices, exhibits, figures and paired differences."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd

from eigenbench.bench.exhibits import Exhibit
from eigenbench.bench.records.record import Confusion
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.csv_files import csv_text
from eigenbench.tracking.summaries import Summary, by_rank

_PIXELS = 720
_MARGIN = 110
_TOP = 24
_CELL_WITH_COUNT = 28
_CELL_WITH_LABEL = 12
_TITLE = "Test examples: rows true, columns predicted; darker = larger share of the row"


def write_confusion(folder: Path, confusion: Confusion) -> None:
    """Write the counts as ``confusion.csv``, one row per true class, and draw ``confusion.svg``."""
    rows = [[label, *row] for label, row in zip(confusion.labels, confusion.matrix, strict=True)]
    text = csv_text(["true \\ predicted", *confusion.labels], rows)
    (folder / "confusion.csv").write_text(text, encoding="utf-8", newline="")
    (folder / "confusion.svg").write_text(_confusion_svg(confusion), encoding="utf-8")


def _confusion_svg(confusion: Confusion) -> str:
    """Draw a square for every class, of at least a pixel, with labels and counts where they fit.

    The shade is the square root of the share, so that rare confusions show.
    """
    from PIL import Image

    counts = np.asarray(confusion.matrix, dtype=np.float64)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    white, blue = np.array([255.0, 255.0, 255.0]), np.array([8.0, 48.0, 107.0])
    shades = white + np.sqrt(shares)[..., np.newaxis] * (blue - white)
    png = io.BytesIO()
    Image.fromarray(shades.astype(np.uint8)).save(png, "PNG")

    cell = max(1, min(48, _PIXELS // len(counts)))
    size = cell * len(counts)
    width, height = max(_MARGIN + size + 8, 520), _TOP + size + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="11"><rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="8" y="15">{_TITLE}</text>',
        f'<image x="{_MARGIN}" y="{_TOP}" width="{size}" height="{size}" style="image-rendering: pixelated" '
        f'href="data:image/png;base64,{base64.b64encode(png.getvalue()).decode()}"/>',
    ]
    for place in range(0, len(counts), -(-_CELL_WITH_LABEL // cell)):
        name, middle = confusion.labels[place], place * cell + cell // 2 + 4
        label = escape(name if len(name) <= 14 else f"{name[:13]}…")
        turned = f"translate({_MARGIN + middle} {_TOP + size + 5}) rotate(-90)"
        lines.append(f'<text x="{_MARGIN - 5}" y="{_TOP + middle}" text-anchor="end">{label}</text>')
        lines.append(f'<text transform="{turned}" text-anchor="end">{label}</text>')
    if cell >= _CELL_WITH_COUNT:
        for row, column in np.argwhere(counts):
            x, y = _MARGIN + column * cell + cell // 2, _TOP + row * cell + cell // 2 + 4
            colour = "white" if shares[row, column] > 0.3 else "black"
            count = int(counts[row, column])
            lines.append(f'<text x="{x}" y="{y}" text-anchor="middle" fill="{colour}">{count}</text>')
    return "\n".join([*lines, "</svg>"])


def write_exhibits(folder: Path, exhibits: Sequence[Exhibit]) -> None:
    """Draw a run's exhibits as ``exhibits/<place>-<title>.png`` in a folder; empty ones are left out."""
    if not exhibits:
        return
    from eigenbench.reporting.exhibit_plots import as_png

    for place, exhibit in enumerate(exhibits, start=1):
        picture = as_png(exhibit)
        if picture is not None:
            title = re.sub(r"[^A-Za-z0-9]+", "-", exhibit.title).strip("-").lower()[:80]
            (folder / "exhibits").mkdir(exist_ok=True)
            (folder / "exhibits" / f"{place:02d}-{title}.png").write_bytes(picture)


def write_figures(folder: Path, experiment: str, spec: ExperimentSpec, summaries: Sequence[Summary]) -> None:
    """Draw the figures that the report has of an experiment as ``figures/<key>.svg`` in a folder."""
    from eigenbench.reporting.captioned_figures import experiment_figures

    for picture in experiment_figures(spec, [summary.runs for summary in summaries], experiment):
        (folder / "figures").mkdir(exist_ok=True)
        (folder / "figures" / f"{picture.key}.svg").write_text(picture.svg, encoding="utf-8")


def write_tables(folder: Path, tables: Mapping[str, Sequence[Sequence[str]]]) -> None:
    """Write tables, each below the names of its columns, as CSV files that the dashboard shows."""
    for name, (header, *rows) in tables.items():
        (folder / f"{name}.csv").write_text(csv_text(header, rows), encoding="utf-8", newline="")


def write_pairs(folder: Path, summaries: Sequence[Summary]) -> None:
    """Write ``paired_differences.csv``: the headline metric of each line less that of each column.

    A difference is the mean over the seeds that both have, in the unit of the metric; a cell without such
    seeds is empty. Methods stand by rank.
    """
    style, metric = summaries[0].style, summaries[0].headline
    values = style.scale * pd.DataFrame(
        {
            item.runs.label: {one.seed: one.metrics.get(metric) for one in item.runs.finished}
            for item in by_rank(summaries)
            if item.estimate
        },
        dtype=np.float64,
    )
    rows = [
        [name, *("" if np.isnan(mean) else float(f"{mean:.6g}") for mean in values.rsub(of, axis=0).mean())]
        for name, of in values.items()
    ]
    text = csv_text([f"{style.heading}: line - column", *values], rows)
    (folder / "paired_differences.csv").write_text(text, encoding="utf-8", newline="")
