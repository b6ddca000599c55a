"""Read a folder of images, with a folder for each class."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eigenbench.datasets.readers.raw_rows import natural_key
from eigenbench.own_data.table import OwnDataError

#: Height and width of images that are larger, or of different sizes.
SIDE = 32

_LARGEST_SIDE = 64


def read_image_folder(folder: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Read images as rows of grey or red, green and blue values from 0 to 1.

    Parameters
    ----------
    folder : path-like
        Holds a folder for each class; hidden files and files that are no images are passed over.

    Returns
    -------
    X : ndarray of float32, shape (n, height * width * channels)
        Images of one size up to 64 × 64 as they are, else scaled to 32 × 32; grey if all are.
    y : ndarray of str, shape (n,)
        The names of their folders.

    Raises
    ------
    OwnDataError
        If there are no images in folders.
    """
    from PIL import Image, UnidentifiedImageError

    folder = Path(folder)
    images, labels = [], []
    for path in sorted(folder.glob("*/*"), key=lambda path: natural_key(str(path))):
        if path.is_file() and not path.name.startswith("."):
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
    mode = "L" if all(image.mode == "L" for image in images) else "RGB"
    sizes = {image.size for image in images}
    size = sizes.pop() if len(sizes) == 1 else (SIDE, SIDE)
    if max(size) > _LARGEST_SIDE:
        size = (SIDE, SIDE)
    rows = [np.asarray(image.convert(mode).resize(size), dtype=np.float32).reshape(-1) for image in images]
    return np.stack(rows) / np.float32(255), np.array(labels)


def _decoded(image):
    """Return an image in memory, no larger than what is needed of it."""
    grey = image.mode in ("1", "L", "I;16", "I", "F", "LA")
    decoded = image.convert("L" if grey else "RGB")
    return decoded.resize((SIDE, SIDE)) if max(decoded.size) > _LARGEST_SIDE else decoded
