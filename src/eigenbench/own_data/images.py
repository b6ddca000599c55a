"""Read a folder of images, with a folder for each class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenbench.datasets.readers.raw_rows import natural_key
from eigenbench.own_data.table import OwnDataError

#: Height and width of images that are larger, or of different sizes.
SIDE = 32

_LARGEST_SIDE = 64

#: Files of these names are images; others in the folders are left out.
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")

#: Height, width and number of colours of the images of one dataset.
ImageShape = tuple[int, int, int]


def read_image_folder(
    folder: str | Path, shape: ImageShape | None = None
) -> tuple[np.ndarray, np.ndarray, ImageShape]:
    """Read images as rows of grey or red, green and blue values from 0 to 1; return labels and shape, too.

    The folder holds a folder for each class, whose names are the labels; hidden files and folders and files
    that are no images are passed over. Rows are float32. All images are brought to ``shape``. Without it,
    images of one size up to 64 × 64 stay as they are, others are scaled to 32 × 32, and they are grey if all
    are. They are turned as their EXIF data say, and on white where they are transparent. Those with 16 bits
    or floats are divided by the value of white. No images in folders, and one that is damaged, are an
    `OwnDataError`.
    """
    folder = Path(folder)
    found = _images(folder.glob("*/*"), shape)
    if not found:
        raise OwnDataError(f"{folder} holds no images in folders, one folder for each class")
    images = list(found.values())
    shape = shape or _shared_shape(images)
    return _rows(images, shape), np.array([path.parent.name for path in found]), shape


def read_images(folder: str | Path, shape: ImageShape) -> np.ndarray:
    """Read the images of a folder and of the folders in it as rows for a model, in the order of their names.

    ``shape`` is that of the images that the model was fitted on; see `read_image_folder`.
    """
    folder = Path(folder)
    images = list(_images([*folder.glob("*"), *folder.glob("*/*")], shape).values())
    if not images:
        raise OwnDataError(f"{folder} holds no images")
    return _rows(images, shape)


def _images(paths: Iterable[Path], shape: ImageShape | None = None) -> dict[Path, Any]:
    """Decode the files that are images, in the order of their names, scaled to a shape or as they need."""
    from PIL import Image, UnidentifiedImageError

    found = {}
    for path in sorted(paths, key=lambda path: natural_key(str(path))):
        if path.is_file() and not path.name.startswith(".") and not path.parent.name.startswith("."):
            try:
                with Image.open(path) as image:
                    found[path] = _decoded(image, shape)
            except UnidentifiedImageError as error:
                if path.suffix.lower() in _ENDINGS:
                    raise OwnDataError(f"{path} holds no image: repair or remove it") from error
            except (OSError, SyntaxError, Image.DecompressionBombError) as error:
                raise OwnDataError(f"{path} can't be read: {error}") from error
    return found


def _shared_shape(images: Sequence[Any]) -> ImageShape:
    sizes = {image.size for image in images}
    width, height = sizes.pop() if len(sizes) == 1 else (SIDE, SIDE)
    if max(width, height) > _LARGEST_SIDE:
        width = height = SIDE
    return height, width, 3 if any(image.mode == "RGB" for image in images) else 1


def _decoded(image: Any, shape: ImageShape | None) -> Any:
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
    if shape:
        return decoded.resize((shape[1], shape[0]))
    return decoded.resize((SIDE, SIDE)) if max(decoded.size) > _LARGEST_SIDE else decoded


def _rows(images: Sequence[Any], shape: ImageShape) -> np.ndarray:
    height, width, n_colours = shape
    return np.stack([_row(image.resize((width, height)), n_colours) for image in images])


def _row(image: Any, n_colours: int) -> np.ndarray:
    if n_colours == 1 and image.mode == "RGB":
        image = image.convert("L")
    values = np.asarray(image, dtype=np.float32)
    if image.mode != "F":
        values = values / np.float32(255)
    if n_colours == 3 and values.ndim == 2:
        values = np.repeat(values[:, :, None], 3, axis=2)
    return values.reshape(-1)
