"""Mel-frequency cepstra of speech, their derivatives, and frames with their neighbours.

Computed here because librosa and python_speech_features define filters, window or logarithm differently.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, rfft

WINDOW_SECONDS = 0.025
HOP_SECONDS = 0.010
_PRE_EMPHASIS = 0.97
_N_FILTERS = 26
_DERIVATIVE_RADIUS = 2

#: Energies of a filter below this, in units of squared 16-bit steps, count as silence.
_ENERGY_FLOOR = 1.0


def frame_centres(n_samples: int, rate: int) -> NDArray[np.int64]:
    """Return the sample at the middle of every frame; only whole windows make a frame."""
    window, hop = round(WINDOW_SECONDS * rate), round(HOP_SECONDS * rate)
    n_frames = max(0, 1 + (n_samples - window) // hop)
    return np.arange(n_frames) * hop + window // 2


def mel_cepstra(samples: NDArray[np.int16], rate: int, n_cepstra: int = 13) -> NDArray[np.float64]:
    """Compute mel-frequency cepstral coefficients.

    Windows of 25 ms every 10 ms, pre-emphasis 0.97, Hamming window, power spectrum, 26 triangular filters
    whose corners are equally spaced on the mel scale between 0 and half the rate, logarithm, orthonormal
    cosine transform.

    Parameters
    ----------
    samples : ndarray of shape (n,), int16
        One channel of sound.
    rate : int
        Samples a second, at least 8,000.
    n_cepstra : int, default=13
        How many coefficients, the zeroth (loudness) first; at most 26.

    Returns
    -------
    ndarray of shape (n_frames, n_cepstra), float64

    Notes
    -----
    The definition is that of S. Davis and P. Mermelstein, "Comparison of parametric representations for
    monosyllabic word recognition", IEEE Trans. ASSP, 1980.

    Examples
    --------
    >>> import numpy as np
    >>> second = (8000 * np.sin(np.arange(16000) * 0.2)).astype(np.int16)
    >>> mel_cepstra(second, 16000).shape
    (98, 13)
    """
    window, hop = round(WINDOW_SECONDS * rate), round(HOP_SECONDS * rate)
    sound = samples.astype(np.float64)
    sound[1:] -= _PRE_EMPHASIS * samples[:-1]
    if len(sound) < window:
        return np.empty((0, n_cepstra))
    frames = np.lib.stride_tricks.sliding_window_view(sound, window)[::hop] * np.hamming(window)
    size = 1 << (window - 1).bit_length()
    power = np.abs(rfft(frames, size, axis=1)) ** 2 / size
    energies = np.maximum(power @ mel_filters(size, rate).T, _ENERGY_FLOOR)
    return dct(np.log(energies), norm="ortho", axis=1)[:, :n_cepstra]


def mel_filters(size: int, rate: int) -> NDArray[np.float64]:
    """Return the weights of the triangular filters over the bins of a spectrum, (26, size // 2 + 1)."""
    highest = 2595 * np.log10(1 + rate / 2 / 700)
    corners = 700 * (10 ** (np.linspace(0, highest, _N_FILTERS + 2) / 2595) - 1)
    frequencies = np.arange(size // 2 + 1) * (rate / size)
    rising = (frequencies - corners[:-2, None]) / np.diff(corners)[:-1, None]
    falling = (corners[2:, None] - frequencies) / np.diff(corners)[1:, None]
    return np.clip(np.minimum(rising, falling), 0, None)


def with_derivatives(cepstra: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append first and second derivatives in time, (n, c) → (n, 3c).

    A derivative is the slope of a regression line over two frames on either side; the first and the last
    frame stand for those beyond.
    """
    first = _slope(cepstra)
    return np.hstack([cepstra, first, _slope(first)])


def _slope(values: NDArray[np.float64]) -> NDArray[np.float64]:
    n, radius = len(values), _DERIVATIVE_RADIUS
    if n == 0:
        return values
    padded = np.pad(values, ((radius, radius), (0, 0)), mode="edge")
    steps = range(1, radius + 1)
    sums = sum(t * (padded[radius + t : radius + t + n] - padded[radius - t : radius - t + n]) for t in steps)
    return np.asarray(sums) / (2 * sum(t * t for t in steps))


def with_context(frames: NDArray[np.floating], radius: int, out: NDArray[np.floating]) -> None:
    """Write every frame with its neighbours, in order of time, into ``out``.

    Parameters
    ----------
    frames : ndarray of shape (n, c)
        Frames of one recording; the first and the last stand for those beyond.
    radius : int
        Neighbours on either side.
    out : ndarray of shape (n, (2·radius + 1)·c)
        The result.
    """
    n, width = frames.shape
    padded = np.pad(frames, ((radius, radius), (0, 0)), mode="edge")
    for position in range(2 * radius + 1):
        out[:, position * width : (position + 1) * width] = padded[position : position + n]
