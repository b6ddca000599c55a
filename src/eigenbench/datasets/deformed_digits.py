"""An endless stream of deformed digits: random affine and elastic distortions, made as they are read."""

from collections.abc import Iterator

import numpy as np
from scipy.fft import idct

_CHUNK = 128
"""Examples that share one random stream; fixed, so that the examples don't depend on the block size."""

_SMOOTHNESS = 3.0
"""Frequency, in half waves across the image, at which the elastic displacement has lost most of its power."""

_N_WAVES = 7

ROTATION, SHEAR, SCALING, SHIFT, ELASTIC = 0.15, 0.15, 0.1, 1.0, 0.8
"""Standard deviations of the angle, in radians, of the slant, of the logarithm of the scale of each axis, and
of the translation, in pixels; and the root mean square of the smooth field, in pixels."""


def deformed_digits(
    X: np.ndarray, y: np.ndarray, *, n: int, block: int = 4096, seed: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of randomly deformed copies of square images, float32, and their labels.

    Each example is a row drawn at random from ``X``, resampled (bilinear, zero outside) at points moved by a
    random affine map about the image's centre plus a smooth random field, in the spirit of the infinite MNIST
    of Loosli, Canu and Bottou [1]_ [2]_. The field is a sum of low cosine waves with Gaussian amplitudes; it
    varies over a third of the image's side. Examples depend on the seed and the data alone, not on ``block``.
    28 x 28 pixels: about 30,000 examples a second on one core; memory for one block and 5 MB.

    References
    ----------
    .. [1] G. Loosli, S. Canu and L. Bottou, "Training invariant support vector machines using selective
       sampling", in Large Scale Kernel Machines, MIT Press, 2007.
    .. [2] P. Y. Simard, D. Steinkraus and J. C. Platt, "Best practices for convolutional neural networks
       applied to visual document analysis", ICDAR 2003.
    """
    images, labels = np.asarray(X), np.asarray(y)
    side = int(np.sqrt(images.shape[1])) if images.ndim == 2 else 0
    if side < 2 or side * side != images.shape[1] or len(images) == 0 or labels.shape != (len(images),):
        raise ValueError(
            f"X of shape {images.shape} and y of shape {labels.shape} are no labelled square images"
        )
    if n < 1 or block < 1:
        raise ValueError(f"n={n} and block={block} must be at least 1")
    return _blocks(images, labels, n, block, seed, _Warp(side))


def _blocks(
    images: np.ndarray, labels: np.ndarray, n: int, block: int, seed: int, warp: "_Warp"
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Cut the chunks, which have streams of their own, into blocks."""
    for start in range(0, n, block):
        end, first = min(start + block, n), start // _CHUNK
        chunks = (_chunk(images, labels, [seed, number], warp) for number in range(first, -(-end // _CHUNK)))
        X, y = (np.concatenate(part) for part in zip(*chunks, strict=True))
        yield X[start - first * _CHUNK :][: end - start], y[start - first * _CHUNK :][: end - start]


def _chunk(
    images: np.ndarray, labels: np.ndarray, seed: list[int], warp: "_Warp"
) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    rows = generator.integers(len(images), size=_CHUNK)
    return warp(images[rows], generator), labels[rows]


class _Warp:
    """Random deformation of chunks of images of one size."""

    def __init__(self, side: int):
        self.side = side
        grid = np.arange(side, dtype=np.float32) - np.float32((side - 1) / 2)
        self.y, self.x = (axis.ravel() for axis in np.meshgrid(grid, grid, indexing="ij"))
        self.waves = _waves(side) * np.float32(ELASTIC)

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return deformed copies, float32."""
        m = len(images)
        angle, slant = generator.standard_normal((2, m)) * np.array([[ROTATION], [SHEAR]])
        stretch = np.exp(generator.standard_normal((2, m)) * SCALING)
        moved = generator.standard_normal((2, m)) * SHIFT
        cosine, sine = np.cos(angle), np.sin(angle)
        maps = np.array(
            [
                [stretch[0] * cosine, stretch[0] * (slant * cosine - sine), moved[0]],
                [stretch[1] * sine, stretch[1] * (slant * sine + cosine), moved[1]],
            ],
            dtype=np.float32,
        )
        affine = np.stack([self.x, self.y, np.ones_like(self.x)])
        field = generator.standard_normal((2, m, len(self.waves)), dtype=np.float32)
        centre = np.float32((self.side - 1) / 2)
        columns, rows = (maps[i].T @ affine + field[i] @ self.waves + centre for i in (0, 1))
        return _sample(images.astype(np.float32), self.side, rows, columns)


def _waves(side: int) -> np.ndarray:
    """Return the cosine waves as rows, weighted such that the field they make has unit mean square."""
    wave = idct(np.eye(side), axis=1, norm="ortho")[: min(_N_WAVES, side)] * np.sqrt(side)
    frequency = np.arange(len(wave))
    weight = np.exp(-0.5 * (frequency[:, None] ** 2 + frequency[None, :] ** 2) / (_SMOOTHNESS / 2) ** 2)
    weight /= np.sqrt((weight**2).sum())
    waves = np.einsum("ij,ia,jb->ijab", weight, wave, wave)
    return waves.reshape(-1, side * side).astype(np.float32)


def _sample(images: np.ndarray, side: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Interpolate each image at its own points, linearly; outside it is zero."""
    padded = np.zeros((len(images), side + 3, side + 3), dtype=np.float32)
    padded[:, 1 : side + 1, 1 : side + 1] = images.reshape(-1, side, side)
    flat, width = padded.ravel(), side + 3
    rows, columns = (np.clip(axis + np.float32(1), 0, side + 1) for axis in (rows, columns))
    top, left = rows.astype(np.int32), columns.astype(np.int32)
    down, right = rows - top, columns - left
    place = top * width + left + (np.arange(len(images), dtype=np.int32) * width * width)[:, None]
    upper, lower = flat[place], flat[place + width]
    upper += right * (flat[place + 1] - upper)
    lower += right * (flat[place + width + 1] - lower)
    upper += down * (lower - upper)
    return upper
