"""Read a folder of images, with a folder for each class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from eigenbench.datasets.readers.raw_rows import natural_key
from eigenbench.own_data.table import OwnDataError

#: Height and width of images that are larger, or of different sizes.
SIDE = 32

_LARGEST_SIDE = 64


def read_image_folder(folder: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Read images as rows of grey or red, green and blue values from 0 to 1.

    The folder holds a folder for each class, whose names are the labels; hidden files and folders and files
    that are no images are passed over. Rows are float32. Images of one size up to 64 × 64 stay as they are,
    others are scaled to 32 × 32; they are grey if all are, turned as their EXIF data say, and on white where
    they are transparent. Those with 16 bits or floats are divided by the value of white. No images in
    folders, and one that is damaged, are an `OwnDataError`.
    """
    from PIL import Image, UnidentifiedImageError

    folder = Path(folder)
    images, labels = [], []
    for path in sorted(folder.glob("*/*"), key=lambda path: natural_key(str(path))):
        if path.is_file() and not path.name.startswith(".") and not path.parent.name.startswith("."):
            try:
                with Image.open(path) as image:
                    images.append(_decoded(image))
                    labels.append(path.parent.name)
            except UnidentifiedImageError:
                continue
            except (OSError, SyntaxError, Image.DecompressionBombError) as error:
                raise OwnDataError(f"{path} can't be read: {error}") from error
    if not images:
        raise OwnDataError(f"{folder} holds no images in folders, one folder for each class")
    sizes = {image.size for image in images}
    size = sizes.pop() if len(sizes) == 1 else (SIDE, SIDE)
    if max(size) > _LARGEST_SIDE:
        size = (SIDE, SIDE)
    colour = any(image.mode == "RGB" for image in images)
    return np.stack([_row(image.resize(size), colour) for image in images]), np.array(labels)


def _decoded(image: Any) -> Any:
    """Return an image upright, L, RGB or (above eight bits) F from 0 to 1, no larger than what is needed."""
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode.startswith(("I", "F")):
        values = np.asarray(image, dtype=np.float32)
        # White is 65,535 of whole numbers; of floats 1, 255 or 65,535, as they need.
        needed = () if image.mode.startswith("I") else (1, 255)
        white = next((one for one in needed if values.max() <= one), 65_535)
        decoded = Image.fromarray(values / np.float32(white))
    else:
        grey = image.mode in ("1", "L", "LA")
        if image.has_transparency_data:
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
        decoded = image.convert("L" if grey else "RGB")
    return decoded.resize((SIDE, SIDE)) if max(decoded.size) > _LARGEST_SIDE else decoded


def _row(image: Any, colour: bool) -> np.ndarray:
    values = np.asarray(image, dtype=np.float32)
    if image.mode != "F":
        values = values / np.float32(255)
    if colour and values.ndim == 2:
        values = np.repeat(values[:, :, None], 3, axis=2)
    return values.reshape(-1)
