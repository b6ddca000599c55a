"""GISETTE rebuilt from MNIST: products of pixels that distinguish 4 from 9, hidden among probes.

What is published of GISETTE's making (I. Guyon, Design of experiments of the NIPS 2003 variable selection
benchmark, 2003, and the data set's page at the UCI repository): the digits 4 and 9 of MNIST, as many of each;
pixels sampled at random in the middle top part of the image, where 4 and 9 differ; products of these pixels
as features of higher order, 2,500 real features in all; 2,500 probes that are distributed like the real
features and predict nothing; integers from 0 to 999; the order of features and of patterns drawn at random;
6,000 patterns for training and 1,000 labelled ones for validation, half of each class.

What is not published, and chosen here: the seed; the region, rows 3 to 15 and columns 5 to 22; pixels that
are zero in 99 % of the digits or more are left out; all other pixels of the region are features, and products
of two different ones, drawn without replacement, fill up the 2,500; a probe is a real feature whose values
are permuted over the patterns, a permutation of its own each; class +1 is the digit 4. Region and share were
set so that the mean value, 101.5, is near that of the original's training set, 105.5 (its parameter file
gives the sum).
"""

from pathlib import Path

import numpy as np

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.idx import read_idx_array
from eigenbench.datasets.readers.raw_rows import RawRows

_PER_CLASS = 3500
_N_TRAIN_PER_CLASS = 3000
_N_REAL = 2500
_LARGEST = 999
_ROWS, _COLUMNS = slice(3, 16), slice(5, 23)
_LEAST_SHARE_INKED = 0.01
_POSITIVE, _NEGATIVE = 4, 9


def read_gisette_rebuilt(
    train_images: Path, train_labels: Path, test_images: Path, test_labels: Path, *, seed: int
) -> RawRows:
    """Rebuild GISETTE from the four idx files of MNIST, whose digits of both parts are pooled.

    Features are 7,000 x 5,000 whole numbers from 0 to 999, labels +1 and -1; 6,000 training rows come first.
    """
    generator = np.random.default_rng(seed)
    digits, labels = _draw_digits((train_images, train_labels, test_images, test_labels), generator)
    real = _products(digits, generator)
    probes = generator.permuted(real, axis=1)
    features = np.concatenate([real, probes])[generator.permutation(2 * _N_REAL)]
    order = np.concatenate([generator.permutation(part) for part in _parts(labels)])
    return RawRows(np.ascontiguousarray(features.T[order], dtype=np.float32), labels[order])


def _draw_digits(paths: tuple[Path, ...], generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the region's pixels of 3,500 digits of each class, and the labels +1 and -1."""
    images = [read_idx_array(path) for path in paths[::2]]
    codes = [read_idx_array(path) for path in paths[1::2]]
    for path, pixels, labels in zip(paths[::2], images, codes, strict=True):
        if pixels.shape != (len(labels), 28, 28) or labels.ndim != 1:
            raise MalformedData(
                path.name, "header", f"images of shape {pixels.shape} for {labels.shape} labels"
            )
    region = np.concatenate([pixels[:, _ROWS, _COLUMNS].reshape(len(pixels), -1) for pixels in images])
    digit = np.concatenate(codes)
    chosen = []
    for wanted in (_POSITIVE, _NEGATIVE):
        found = np.flatnonzero(digit == wanted)
        if len(found) < _PER_CLASS:
            raise MalformedData(paths[1].name, f"digit {wanted}", f"{len(found)} of {_PER_CLASS} needed")
        chosen.append(generator.choice(found, _PER_CLASS, replace=False))
    return region[np.concatenate(chosen)], np.repeat(np.array([1, -1]), _PER_CLASS)


def _products(digits: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return the real features, one a row: the inked pixels and random products of two of them."""
    pixels = digits.T[(digits > 0).mean(axis=0) > _LEAST_SHARE_INKED].astype(np.float64) / 255
    first, second = np.triu_indices(len(pixels), k=1)
    pairs = generator.choice(len(first), _N_REAL - len(pixels), replace=False)
    products = pixels[first[pairs]] * pixels[second[pairs]]
    return np.rint(_LARGEST * np.concatenate([pixels, products])).astype(np.int16)


def _parts(labels: np.ndarray) -> list[np.ndarray]:
    """Return the row numbers of the training set and of the others, both with as many of each class."""
    classes = [np.flatnonzero(labels == label) for label in (1, -1)]
    return [
        np.concatenate([rows[:_N_TRAIN_PER_CLASS] for rows in classes]),
        np.concatenate([rows[_N_TRAIN_PER_CLASS:] for rows in classes]),
    ]
