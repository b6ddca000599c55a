"""The confusion matrix of a run as a table and as a picture."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbench.bench.records.record import Confusion
from eigenbench.reporting.csv_files import csv_text

_PIXELS = 720
_CELL_WITH_COUNT = 28
_CELL_WITH_LABEL = 12
_TITLE = "Test examples: rows true, columns predicted; darker = larger share of the row"


def write_table(path: Path, confusion: Confusion) -> None:
    """Write the counts as CSV: one row per true class, one column per predicted class."""
    rows = [[label, *row] for label, row in zip(confusion.labels, confusion.matrix, strict=True)]
    text = csv_text(["true \\ predicted", *confusion.labels], rows)
    path.write_text(text, encoding="utf-8", newline="")


def write_picture(path: Path, confusion: Confusion) -> None:
    """Draw the counts as PNG, readable from two classes to a thousand and more.

    Every class has a square of at least one pixel; labels are thinned and counts left out where they would
    not fit. The shade is the square root of the share, so that rare confusions show. Drawn pixel by pixel,
    a picture takes milliseconds, where a plotting library takes a tenth of a second.
    """
    from PIL import Image, ImageDraw

    counts = np.asarray(confusion.matrix, dtype=np.float64)
    n_classes = len(counts)
    cell = max(1, min(48, _PIXELS // n_classes))
    font = _font()
    step = -(-_CELL_WITH_LABEL // cell)
    shown = [(index, _short(confusion.labels[index])) for index in range(0, n_classes, step)]
    margin = 12 + max(int(font.getlength(text)) for _, text in shown)
    top = 24
    size = n_classes * cell
    width = max(margin + size + 8, int(font.getlength(_TITLE)) + 16)
    picture = Image.new("RGB", (width, top + size + margin), "white")
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shades = Image.fromarray(_shades(np.sqrt(shares))).resize((size, size), Image.Resampling.NEAREST)
    picture.paste(shades, (margin, top))
    draw = ImageDraw.Draw(picture)
    draw.text((8, 6), _TITLE, fill="black", font=font)
    draw.rectangle((margin - 1, top - 1, margin + size, top + size), outline="grey")
    for index, text in shown:
        middle = index * cell + cell // 2
        draw.text((margin - 5, top + middle), text, fill="black", font=font, anchor="rm")
        picture.paste(_upright(text, font), (margin + middle - 7, top + size + 4))
    if cell >= _CELL_WITH_COUNT:
        for row, column in np.argwhere(counts):
            place = (margin + column * cell + cell // 2, top + row * cell + cell // 2)
            light = shares[row, column] > 0.3
            text = f"{int(counts[row, column])}"
            draw.text(place, text, fill="white" if light else "black", font=font, anchor="mm")
    picture.save(path, compress_level=1)


@lru_cache(maxsize=1)
def _font() -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size=11)


def _shades(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Blend from white to dark blue; values lie in [0, 1]."""
    white, blue = np.array([255.0, 255.0, 255.0]), np.array([8.0, 48.0, 107.0])
    return (white + values[..., np.newaxis] * (blue - white)).astype(np.uint8)


def _short(label: str) -> str:
    return label if len(label) <= 14 else label[:13] + "…"


def _upright(text: str, font: Any) -> Any:
    from PIL import Image, ImageDraw

    label = Image.new("RGB", (max(1, int(font.getlength(text)) + 1), 14), "white")
    ImageDraw.Draw(label).text((0, 7), text, fill="black", font=font, anchor="lm")
    return label.rotate(90, expand=True)
