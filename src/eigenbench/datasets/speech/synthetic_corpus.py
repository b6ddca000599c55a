"""A stand-in for TIMIT: English sentences said by many voices of a synthesiser, in TIMIT's layout.

It is not TIMIT, and no figure measured on it is one of TIMIT. What it has in common: read English, 16 kHz,
speakers of eight accents who differ between the parts, and phones with their exact times.
"""

from __future__ import annotations

import io
import random
import tarfile
import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import resample_poly

from eigenbench.datasets.speech.espeak import Espeak, Voice
from eigenbench.datasets.speech.sentences import sentence
from eigenbench.datasets.speech.timit_speakers import CORE_TEST, DEVELOPMENT

RATE = 16_000
SENTENCES_PER_SPEAKER = 8
N_TRAINING_SPEAKERS = 120
SEED = 2014

_ACCENTS = (
    "en-us",
    "en-us-nyc",
    "en-gb-x-rp",
    "en-gb-scotland",
    "en-gb-x-gbclan",
    "en-gb-x-gbcwmd",
    "en-029",
    "en",
)

#: Voices that sound like people. Those of the test part are not heard in training.
_TRAINING_VARIANTS = """
    m1 m2 m3 m4 m5 m6 f1 f2 f3 klatt klatt2 klatt4 Alex Annie Andy Denis Diogo Gene Henrique Jacky Lee Mario
    Michael Mike Reed Storm adam announcer aunty belinda benjamin boris caleb david ed edward grandma ian iven
    john kaukovalta linda max michel norbert pablo paul quincy rob shelby steph sandro travis victor zac
"""
_TEST_VARIANTS = """
    m7 m8 f4 f5 klatt3 klatt6 Alicia Gene2 Hugo Marco Nguyen edward2 grandpa gustave iven3 marcelo miguel
    mike2 robert steph2
"""


@dataclass(frozen=True)
class Speaker:
    """A voice with its place in the corpus."""

    folder: str
    voice: Voice


def speakers(seed: int = SEED) -> Iterator[Speaker]:
    """Yield the speakers: invented ones for training, and the names on TIMIT's two lists for testing."""
    draws = random.Random(seed)
    training, testing = _TRAINING_VARIANTS.split(), _TEST_VARIANTS.split()
    for number in range(N_TRAINING_SPEAKERS):
        variant = training[number % len(training)]
        yield _speaker("train", f"s{number:03}", number % len(_ACCENTS), variant, draws)
    for number, name in enumerate(sorted(DEVELOPMENT) + sorted(CORE_TEST)):
        variant = testing[number % len(testing)]
        yield _speaker("test", name, number % len(_ACCENTS), variant, draws)


def _speaker(part: str, name: str, accent: int, variant: str, draws: random.Random) -> Speaker:
    voice = Voice(
        _ACCENTS[accent],
        variant,
        words_per_minute=draws.randint(130, 200),
        pitch=draws.randint(30, 70),
        pitch_range=draws.randint(30, 70),
    )
    return Speaker(f"{part}/dr{accent + 1}/{name}", voice)


def synthesise(path: Path, cast: Sequence[Speaker] | None = None, *, seed: int = SEED) -> None:
    """Write the corpus as a tar, in a process of its own.

    A fresh process says the same sentences in the same order, so with one version of the synthesiser on one
    kind of machine the bytes are the same each time.

    Parameters
    ----------
    path : Path
        File to create.
    cast : sequence of Speaker, optional
        Default: all of `speakers`.
    seed : int
        Of the sentences.

    Raises
    ------
    ImportError
        If espeakng-loader is not installed.
    RuntimeError
        If the process ends early, by a signal or an error of the synthesiser.

    Notes
    -----
    75 minutes of speech in less than two minutes of one core; 150 MB.
    """
    import_module("espeakng_loader")
    cast = tuple(speakers() if cast is None else cast)
    process = get_context("spawn").Process(target=_write, args=(path, cast, seed))
    process.start()
    process.join()
    if process.exitcode != 0:
        raise RuntimeError(f"the synthesiser ended with status {process.exitcode}")


def _write(path: Path, cast: Sequence[Speaker], seed: int) -> None:
    draws = random.Random(seed)
    espeak = Espeak()
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for speaker in cast:
            for number in range(SENTENCES_PER_SPEAKER):
                sound, phones = espeak.say(sentence(draws), speaker.voice)
                place = f"{speaker.folder}/sx{number + 1}"
                _add(tar, f"{place}.phn", phone_list(phones, len(sound), espeak.rate))
                _add(tar, f"{place}.wav", riff(resampled(sound, espeak.rate)))


def resampled(sound: NDArray[np.int16], rate: int) -> NDArray[np.int16]:
    """Return sound at 16 kHz."""
    common = np.gcd(RATE, rate)
    smooth = resample_poly(sound.astype(np.float64), RATE // common, rate // common)
    return np.clip(np.rint(smooth), -(2**15), 2**15 - 1).astype(np.int16)


def phone_list(phones: list[tuple[int, str]], n_samples: int, rate: int) -> bytes:
    """Return the lines of a ``.phn`` file; pauses are called ``pau``, as TIMIT calls them."""
    at = [round(start * RATE / rate) for start, _ in phones] + [n_samples * RATE // rate]
    names = ["pau" if name.startswith("_") else name for _, name in phones]
    spans = zip(at[:-1], at[1:], names, strict=True)
    return "".join(f"{start} {end} {name}\n" for start, end, name in spans if start < end).encode()


def riff(sound: NDArray[np.int16]) -> bytes:
    """Return a ``.wav`` file of one channel at 16 kHz."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(sound.astype("<i2").tobytes())
    return content.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))
