"""Handwritten letters in the manner of MNIST: scanned capitals, lower-case letters drawn from pen strokes."""

from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Annotated

import numpy as np
from PIL import Image, ImageDraw
from pydantic import Field, TypeAdapter, ValidationError

from eigenbench.datasets.archives import damage_errors
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows

_SIDE, _BOX = 28, 20
_PEN = 2.2
_OVERSAMPLING = 8

_Coordinate = Annotated[float, Field(gt=-1e6, lt=1e6, strict=True)]
_Stroke = Annotated[list[tuple[_Coordinate, _Coordinate]], Field(min_length=1)]
Drawing = Annotated[list[_Stroke], Field(min_length=1)]
_DRAWINGS: TypeAdapter[dict[str, list[Drawing]]] = TypeAdapter(
    dict[str, Annotated[list[Drawing], Field(min_length=1)]]
)


def read_handwritten_letters(capitals: Path, strokes: Path) -> RawRows:
    """Read scanned capitals and draw handwritten lower-case letters after them, sorted by letter.

    ``capitals`` is a Parquet table of bytes: column ``0`` is the letter's number from 0, the others are the
    pixels of an image of 28 x 28, row by row. ``strokes`` is JSON, ``{character: [[[[x, y], …], …], …]}``:
    for each character examples of strokes of points, of which only the lower-case letters are used.
    """
    images, codes = _scanned(capitals)
    drawn = _strokes(strokes)
    lower = [(letter, draw_strokes(example)) for letter in ascii_lowercase for example in drawn[letter]]
    labels = [ascii_uppercase[code] for code in codes] + [letter for letter, _ in lower]
    features = np.concatenate([images, np.stack([image.ravel() for _, image in lower])])
    return RawRows(features, np.array(labels, dtype=np.str_))


def draw_strokes(strokes: Drawing) -> np.ndarray:
    """Draw pen strokes as MNIST draws digits, in 28 x 28 uint8 pixels of which ink is 255.

    The ink, of a round pen 2.2 pixels wide, fits a box of 20 x 20 pixels with its proportions kept, and its
    centre of mass is in the middle; grey levels come from averaging 8 x 8 finer ones. A stroke is a list of
    points ``[x, y]``, y downwards, in any unit.
    """
    points = np.concatenate([np.asarray(stroke, dtype=np.float64) for stroke in strokes])
    low, high = points.min(axis=0), points.max(axis=0)
    unit = (_BOX - _PEN) * _OVERSAMPLING / max(float((high - low).max()), 1e-9)
    fine = _SIDE * _OVERSAMPLING
    canvas = Image.new("L", (2 * fine, 2 * fine))
    pen = ImageDraw.Draw(canvas)
    width, radius = round(_PEN * _OVERSAMPLING), _PEN * _OVERSAMPLING / 2
    for stroke in strokes:
        path = [tuple(point) for point in (np.asarray(stroke) - (low + high) / 2) * unit + fine]
        pen.line(path, fill=255, width=width)
        for x, y in path:
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    levels = np.asarray(canvas, dtype=np.float64)
    where = np.arange(2 * fine)
    top, left = (
        round(float((levels.sum(axis=axis) @ where) / levels.sum()) + 0.5 - fine / 2) for axis in (1, 0)
    )
    centred = levels[top : top + fine, left : left + fine]
    tiles = centred.reshape(_SIDE, _OVERSAMPLING, _SIDE, _OVERSAMPLING)
    return np.rint(tiles.mean(axis=(1, 3))).astype(np.uint8)


def _scanned(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the images, ordered by letter, and the letters' numbers."""
    from pyarrow.parquet import ParquetFile

    names = [str(number) for number in range(1 + _SIDE * _SIDE)]
    with damage_errors(path.name, "parquet"), path.open("rb") as stream:
        file = ParquetFile(stream)
        schema = file.schema_arrow
        if schema.names != names or any(str(kind) != "uint8" for kind in schema.types):
            raise MalformedData(path.name, "columns", "not a number and 784 pixels, all of them bytes")
        values = np.stack([column.to_numpy() for column in file.read().columns], axis=1)
    if values.dtype != np.uint8:
        raise MalformedData(path.name, "columns", "a missing value")
    codes = values[:, 0]
    if set(codes.tolist()) != set(range(len(ascii_uppercase))):
        raise MalformedData(path.name, "column '0'", "the numbers of the letters are not 0 to 25")
    order = np.argsort(codes, kind="stable")
    return values[order, 1:], codes[order]


def _strokes(path: Path) -> dict[str, list[Drawing]]:
    try:
        content = _DRAWINGS.validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "JSON"
        raise MalformedData(path.name, place, str(first["msg"])[:200]) from error
    if absent := set(ascii_lowercase) - content.keys():
        raise MalformedData(path.name, f"letter {min(absent)!r}", "no examples")
    return content
