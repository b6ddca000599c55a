"""A tiny corpus in TIMIT's layout, in both formats of sound."""

from functools import partial

import numpy as np
import pytest
from damage import read_bytes
from sounds import riff, sphere

from eigenbench.datasets import MalformedData
from eigenbench.datasets.archives import pack_tar
from eigenbench.datasets.readers.speech_corpus import mel_cepstra, read_speech_corpus, with_derivatives

READ = partial(read_speech_corpus, test_speakers="core_test")
RATE = 16000


def noise(seed, seconds=0.3):
    return np.random.default_rng(seed).integers(-5000, 5000, int(RATE * seconds)).astype(np.int16)


def phones(n, names=("h#", "aa", "s")):
    edges = np.linspace(0, n, len(names) + 1).astype(int)
    lines = zip(edges[:-1], edges[1:], names, strict=True)
    return "".join(f"{start} {end} {name}\n" for start, end, name in lines).encode()


def sentence(place, seed, write=riff, **options):
    samples = noise(seed, **options)
    return {f"{place}.wav": write(samples), f"{place}.phn": phones(len(samples))}


def corpus():
    return {
        **sentence("timit/train/dr1/fcjf0/si1027", 0),
        **sentence("timit/train/dr1/fcjf0/sa1", 1),
        **sentence("TIMIT/TRAIN/DR2/MCEW0/SX182", 2, sphere),
        **sentence("timit/test/dr1/felc0/si756", 3, sphere, seconds=0.2),
        **sentence("timit/test/dr1/faks0/si943", 4),
        **sentence("timit/test/dr1/mjsw9/si1", 5),
        "timit/train/dr1/fcjf0/si1027.txt": b"0 4800 nothing",
    }


def packed(members):
    return pack_tar((members | {"readme.doc": b"keeps the folders that all sentences share"}).items())


def read(members, subset):
    part = "train" if subset == "train" else "test"
    lists = {} if subset == "train" else {"test_speakers": subset}
    return read_bytes(lambda path: READ(path, part=part, **lists), packed(members))


def test_frames_of_the_training_speakers():
    rows = read(corpus(), "train")
    assert (rows.features.shape, rows.features.dtype) == ((56, 429), np.float32)
    for row, seed in ((0, 0), (28, 2)):
        frames = with_derivatives(mel_cepstra(noise(seed), RATE)).astype(np.float32)
        first, last = rows.features[row].reshape(11, 39), rows.features[row + 27].reshape(11, 39)
        assert np.array_equal(first, frames[[0] * 5 + [0, 1, 2, 3, 4, 5]]), (
            "the first stands for those before"
        )
        assert np.array_equal(last, frames[[22, 23, 24, 25, 26, 27, *[27] * 5]])
    expected = [f"{name}_{third}" for name in ("h#", "aa", "s") for third in (1, 2, 3)]
    assert list(dict.fromkeys(rows.labels.tolist())) == expected


def test_the_lists_of_speakers():
    core, development = read(corpus(), "core_test"), read(corpus(), "development")
    assert (len(core.features), len(development.features)) == (18, 28)
    other = read(sentence("test/dr1/felc0/si756", 3, seconds=0.2), "core_test")
    assert np.array_equal(core.features, other.features), "SPHERE and RIFF hold the same samples"


def test_frames_without_a_phone_are_left_out():
    members = sentence("train/dr1/fcjf0/si1", 0)
    members["train/dr1/fcjf0/si1.phn"] = b"0 1000 aa\n2000 3000 s\n"
    rows = read(members, "train")
    centres = np.arange(28) * 160 + 200
    expected = ((centres < 1000) | (centres >= 2000)) & (centres < 3000)
    assert len(rows.features) == expected.sum()
    assert set(rows.labels) == {f"{name}_{third}" for name in ("aa", "s") for third in (1, 2, 3)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train/dr1/fcjf0/si2.wav": riff(noise(0))}, r"si2.wav.*no list of phones beside it"),
        ({"train/dr1/fcjf0/si2.phn": phones(100)}, r"si2.phn.*no recording beside it"),
        ({"train/dr1/fcjf0/si1.sph": sphere(noise(0))}, "second file of the same sentence"),
        ({"train/dr1/fcjf0/si1.phn": b"0 1000 aa\n900 2000 s\n"}, r"si1.phn, line 2.*must start at 1000"),
        ({"train/dr1/fcjf0/si1.wav": riff(noise(0), rate=4000)}, "a rate of 4000 Hz"),
        (sentence("train/dr1/fcjf0/si3", 1, lambda samples: riff(samples, rate=8000)), "different sampling"),
        ({"train/dr1/fcjf0/si1.wav": b"RIFF"}, "si1.wav, header"),
    ],
)
def test_what_is_wrong_is_said(change, message):
    with pytest.raises(MalformedData, match=message):
        read(sentence("train/dr1/fcjf0/si1", 0) | change, "train")


def test_no_speaker_of_the_subset():
    with pytest.raises(MalformedData, match="no recording of the core_test speakers"):
        read(sentence("train/dr1/fcjf0/si1", 0), "core_test")
