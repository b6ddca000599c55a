"""Images of printed characters, drawn from a font file with random angles and sizes."""

from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import gaussian_filter

from eigenbench.datasets.archives import damage_errors
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.formats import PrintedFormat
from eigenbench.datasets.readers.raw_rows import RawRows

_OVERSAMPLING = 4
"""Pixels of the drawing, in each direction, that are averaged into one of the image."""

_TRUNCATE = 3.0
"""Standard deviations after which the smoothing ends."""


def read_printed(path: Path, *, options: PrintedFormat, part: Literal["train", "test", "all"]) -> RawRows:
    """Draw every character of a part's alphabet, or of both, many times from a TrueType or OpenType font.

    A character is drawn once, large. Each image shows it rotated about its centre of mass and scaled, with
    that centre in the middle of the image: the drawing is resampled (bilinear) at four times the image's
    resolution, averaged over 4 x 4 pixels, and smoothed. At scale 1 the larger side of the bounding box is
    ``extent`` of the image's side; what a larger scale moves out of the image is cut off. Draws for a
    character depend on the seed and its code point alone, so an alphabet may grow without changing the
    others.

    Returns uint8 grey levels (ink is 255), character after character, which is the label, at about 0.3 ms an
    image of 28 x 28 pixels. Another Pillow or FreeType may differ by one grey level where its rasteriser
    does.
    """
    images = {
        character: alphabet.images
        for name, alphabet in (("train", options.train), ("test", options.test))
        for character in alphabet.characters
        if part in (name, "all")
    }
    # The size at which a capital is drawn about as large as its largest image.
    largest = options.scaled[1] if options.scaled else 1.0
    size = round(largest * options.extent * options.size * _OVERSAMPLING / 0.73)
    with damage_errors(path.name, "font"):  # FreeType reads the outlines only when it draws them
        font = ImageFont.truetype(str(path), size=size, layout_engine=ImageFont.Layout.BASIC)
        missing = _ink(font, "\uffff")
        inks = {character: _ink(font, character) for character in images}
    blocks = [
        _draw_all(path, ink, options, images[character], character, missing)
        for character, ink in inks.items()
    ]
    labels = np.repeat(np.array(list(images), dtype=np.str_), list(images.values()))
    return RawRows(np.concatenate(blocks), labels)


def _ink(font: ImageFont.FreeTypeFont, character: str) -> Image.Image:
    """Return the character in a box that fits it, with a margin of one pixel."""
    left, top, right, bottom = (round(edge) for edge in font.getbbox(character))
    canvas = Image.new("L", (max(right - left, 1) + 2, max(bottom - top, 1) + 2))
    ImageDraw.Draw(canvas).text((1 - left, 1 - top), character, font=font, fill=255)
    return canvas


def _draw_all(
    path: Path, ink: Image.Image, options: PrintedFormat, n_images: int, character: str, missing: Image.Image
) -> np.ndarray:
    """Return the images of one character as rows."""
    levels = np.asarray(ink, dtype=np.float64)
    if not levels.any() or ink.tobytes() == missing.tobytes():
        raise MalformedData(
            path.name, f"character {character!r}", "the font doesn't draw it", "choose another"
        )
    rows, columns = np.indices(levels.shape)
    centre = np.array([(columns * levels).sum(), (rows * levels).sum()]) / levels.sum() + 0.5
    inked = np.nonzero(levels)
    extent = max(int(np.ptp(axis)) + 1 for axis in inked)
    per_pixel = extent / (options.extent * options.size * _OVERSAMPLING)
    generator = np.random.default_rng([options.seed, ord(character)])
    images = np.empty((n_images, options.size, options.size), dtype=np.float32)
    for image in images:
        angle = generator.uniform(0, 2 * np.pi) if options.rotated else 0.0
        scale = generator.uniform(*options.scaled) if options.scaled else 1.0
        image[:] = _place(ink, centre, angle, per_pixel / scale, options.size)
    if options.blur:
        smoothing = (0, options.blur, options.blur)
        images = gaussian_filter(images, smoothing, mode="constant", truncate=_TRUNCATE)
    return np.rint(images).astype(np.uint8).reshape(len(images), -1)


def _place(ink: Image.Image, centre: np.ndarray, angle: float, per_pixel: float, size: int) -> np.ndarray:
    """Return one image: ``per_pixel`` is the step in the drawing for a step of one fine pixel."""
    side = size * _OVERSAMPLING
    along, across = per_pixel * np.cos(angle), per_pixel * np.sin(angle)
    turn = np.array([[along, across], [-across, along]])
    offset = centre - turn @ np.full(2, side / 2)
    affine = (turn[0, 0], turn[0, 1], offset[0], turn[1, 0], turn[1, 1], offset[1])
    fine = ink.transform((side, side), Image.Transform.AFFINE, affine, resample=Image.Resampling.BILINEAR)
    tiles = np.asarray(fine, dtype=np.float32).reshape(size, _OVERSAMPLING, size, _OVERSAMPLING)
    return tiles.mean(axis=(1, 3))
