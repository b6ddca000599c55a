"""Cepstra against their formula written plainly, and frames against indexing."""

import math

import numpy as np
import pytest

from eigenbench.datasets.readers.audio import (
    frame_centres,
    mel_cepstra,
    mel_filters,
    with_context,
    with_derivatives,
)

RATE = 8000
SOUND = np.random.default_rng(0).integers(-9000, 9000, 600).astype(np.int16)


def plain_cepstrum(frame, rate, n_cepstra):
    """One frame of samples, pre-emphasised already, by sums over single numbers."""
    window, size = len(frame), 1 << (len(frame) - 1).bit_length()
    tapered = [x * (0.54 - 0.46 * math.cos(2 * math.pi * t / (window - 1))) for t, x in enumerate(frame)]
    spectrum = []
    for k in range(size // 2 + 1):
        wave = [
            x * complex(math.cos(a := 2 * math.pi * k * t / size), -math.sin(a))
            for t, x in enumerate(tapered)
        ]
        spectrum.append(abs(sum(wave)) ** 2 / size)
    mel = 2595 * math.log10(1 + rate / 2 / 700)
    corner = [700 * (10 ** (mel * i / 27 / 2595) - 1) for i in range(28)]
    logs = []
    for i in range(26):
        energy = 0.0
        for k, power in enumerate(spectrum):
            f = k * rate / size
            rise, fall = (
                (f - corner[i]) / (corner[i + 1] - corner[i]),
                (corner[i + 2] - f) / (corner[i + 2] - corner[i + 1]),
            )
            energy += max(0.0, min(rise, fall)) * power
        logs.append(math.log(max(energy, 1.0)))
    scale = [math.sqrt((1 if m == 0 else 2) / 26) for m in range(n_cepstra)]
    return [
        scale[m] * sum(value * math.cos(math.pi * m * (i + 0.5) / 26) for i, value in enumerate(logs))
        for m in range(n_cepstra)
    ]


def test_cepstra_are_their_formula():
    found = mel_cepstra(SOUND, RATE)
    sharpened = [float(SOUND[0])] + [float(SOUND[t]) - 0.97 * float(SOUND[t - 1]) for t in range(1, 600)]
    assert found.shape == (6, 13)
    for number in (0, 5):
        frame = sharpened[80 * number : 80 * number + 200]
        np.testing.assert_allclose(found[number], plain_cepstrum(frame, RATE, 13), rtol=1e-9, atol=1e-9)


def test_a_tone_shows_in_the_filter_around_it():
    tone = (10000 * np.sin(2 * np.pi * 1000 * np.arange(4000) / RATE)).astype(np.int16)
    power = np.abs(np.fft.rfft(tone[:200] * np.hamming(200), 256)) ** 2
    weights = mel_filters(256, RATE)
    assert (weights @ power).argmax() == weights[:, 1000 * 256 // RATE].argmax()


def test_silence_is_finite_and_constant():
    cepstra = mel_cepstra(np.zeros(1000, np.int16), RATE)
    assert np.array_equal(cepstra, np.zeros((11, 13)))


@pytest.mark.parametrize(("n", "frames"), [(0, 0), (199, 0), (200, 1), (279, 1), (280, 2)])
def test_only_whole_windows_make_frames(n, frames):
    assert mel_cepstra(SOUND[:n], RATE).shape == (frames, 13)
    assert len(frame_centres(n, RATE)) == frames
    assert with_derivatives(mel_cepstra(SOUND[:n], RATE)).shape == (frames, 39)


def test_derivatives_of_a_parabola():
    time = np.arange(20.0)
    found = with_derivatives(np.column_stack([time**2]))
    inner = slice(4, -4)
    np.testing.assert_allclose(found[inner, 1], 2 * time[inner])
    np.testing.assert_allclose(found[inner, 2], 2)
    assert np.array_equal(with_derivatives(np.ones((3, 2)))[:, 2:], np.zeros((3, 4)))


def test_context_repeats_the_ends():
    frames = np.arange(8.0).reshape(4, 2)
    out = np.empty((4, 10))
    with_context(frames, 2, out)
    for row in range(4):
        expected = [frames[min(max(row + shift, 0), 3)] for shift in range(-2, 3)]
        assert np.array_equal(out[row], np.concatenate(expected))
