"""Recordings in TIMIT's layout: a tiny corpus, its sounds and phones, and a user's folder as a dataset."""

from functools import partial

import numpy as np
import pytest
from damage import read_bytes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sounds import riff, sphere

from eigenbench.datasets import DatasetUnavailable, MalformedData, fetch, load, prepare
from eigenbench.datasets.archives import pack_tar
from eigenbench.datasets.readers.speech_corpus import (
    Phone,
    frame_centres,
    mel_cepstra,
    parse_phones,
    parse_recording,
    phone_states,
    read_speech_corpus,
    with_derivatives,
)

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


def read(members, subset):
    part = "train" if subset == "train" else "test"
    lists = {} if subset == "train" else {"test_speakers": subset}
    packed = pack_tar((members | {"readme.doc": b"keeps the folders that all sentences share"}).items())
    return read_bytes(partial(READ, part=part, **lists), packed)


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
def test_what_is_wrong_with_a_corpus_is_said(change, message):
    corpus = sentence("train/dr1/fcjf0/si1", 0)
    with pytest.raises(MalformedData, match=message):
        read(corpus | change, "train")
    with pytest.raises(MalformedData, match="no recording of the core_test speakers"):
        read(corpus, "core_test")


SAMPLES = hnp.arrays(np.int16, st.integers(0, 40))
FEW = np.array([0, 1, -2, 32767, -32768], dtype=np.int16)


@given(SAMPLES, st.sampled_from([8000, 16000]))
def test_riff_round_trip(samples, rate):
    found, found_rate = parse_recording("file", riff(samples, rate=rate))
    np.testing.assert_array_equal(found, samples)
    assert (found_rate, found.dtype) == (rate, np.int16)


@given(SAMPLES, st.sampled_from(["<i2", ">i2"]), st.sampled_from([1024, 2048]))
def test_sphere_round_trip(samples, order, size):
    found, rate = parse_recording("file", sphere(samples, order, size))
    np.testing.assert_array_equal(found, samples)
    assert (rate, found.dtype) == (16000, np.int16)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "neither a RIFF nor a NIST SPHERE"),
        (riff(FEW)[:-2], "samples|header"),
        (riff(np.zeros(6, np.int16), channels=2), "2 channels"),
        (riff(np.zeros(6, np.int16), width=1), "of 8 bits"),
        (sphere(FEW)[:-1], "4 of 5"),
        (sphere(FEW, sample_count="-i 6"), "5 of 6"),
        (sphere(FEW, sample_count="-i -1"), "sample_count is -1"),
        (sphere(FEW, sample_count="-s1 5"), "sample_count is '5'"),
        (sphere(FEW, sample_count=None), "sample_count is None"),
        (sphere(FEW, sample_rate="-i 0"), "sample_rate is 0"),
        (sphere(FEW, sample_byte_format="-s1 1"), "sample_byte_format is '1'"),
        (sphere(FEW, channel_count="-i 2"), "channel_count is 2 instead of 1"),
        (sphere(FEW, sample_n_bytes="-i 1"), "sample_n_bytes is 1 instead of 2"),
        (sphere(FEW, broken="5"), "line 10.*is not 'name -type value'"),
        (sphere(FEW, size=100), "no 'end_head' within 100 bytes"),
        (sphere(FEW).replace(b"   1024", b"   102x"), "no length"),
        (sphere(FEW, sample_coding="-s26 pcm,embedded-shorten-v2.00"), r"sample_coding is .*sph2pipe"),
    ],
)
def test_what_is_wrong_is_said(data, message):
    with pytest.raises(MalformedData, match=message) as caught:
        parse_recording("file", data)
    assert caught.value.file == "file"


def test_phones():
    phones = parse_phones("file", b"0 3050 h#\n3050 4559 sh\r\n4600 5723 ax-h\n")
    assert phones == ((0, 3050, "h#"), (3050, 4559, "sh"), (4600, 5723, "ax-h"))
    with pytest.raises(MalformedData, match="no phones"):
        parse_phones("file", b"")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "is not 'start end phone'"),
        (b"10 20 s h", "is not"),
        (b"-1 20 sh", "is not"),
        (b"9 20 sh", "must start at 10"),
        (b"12 12 sh", "end after its start"),
    ],
)
def test_the_line_of_a_wrong_phone_is_named(line, message):
    with pytest.raises(MalformedData, match=message) as caught:
        parse_phones("file", b"0 10 h#\n" + line + b"\n")
    assert "file, line 2" in str(caught.value)


@st.composite
def phone_lists(draw):
    phones, end = [], 0
    for number in range(draw(st.integers(1, 6))):
        start = end + draw(st.integers(0, 3))
        end = start + draw(st.integers(1, 20))
        phones.append(Phone(start, end, f"p{number}"))
    return phones


@given(phone_lists())
def test_every_moment_has_the_phone_and_the_third_that_cover_it(phones):
    moments = np.arange(phones[-1].end + 3)
    labels, covered = phone_states(phones, moments)
    for moment in moments.tolist():
        over = [phone for phone in phones if phone.start <= moment < phone.end]
        assert covered[moment] == bool(over)
        if over:
            third = 1 + int(3 * (moment - over[0].start) / (over[0].end - over[0].start))
            assert labels[moment] == f"{over[0].label}_{third}"


LOW_RATE = 8000
SOUND = np.random.default_rng(0).integers(-9000, 9000, 600).astype(np.int16)


def plain_cepstrum(frame, rate):
    """The cepstrum of one frame of samples, pre-emphasised already, by sums."""
    n, size = len(frame), 1 << (len(frame) - 1).bit_length()
    time, bins = np.arange(n), np.arange(size // 2 + 1)
    tapered = frame * (0.54 - 0.46 * np.cos(2 * np.pi * time / (n - 1)))
    power = np.abs(np.exp(-2j * np.pi * np.outer(bins, time) / size) @ tapered) ** 2 / size
    mel = 2595 * np.log10(1 + rate / 2 / 700)
    corners = 700 * (10 ** (mel * np.arange(28) / 27 / 2595) - 1)
    triangles = [np.interp(bins * rate / size, corners[i : i + 3], [0, 1, 0]) for i in range(26)]
    logs = np.log(np.maximum(triangles @ power, 1))
    waves = np.cos(np.pi * np.outer(np.arange(13), np.arange(26) + 0.5) / 26)
    return np.sqrt(np.where(np.arange(13), 2, 1) / 26) * (waves @ logs)


def test_cepstra_are_their_formula():
    found = mel_cepstra(SOUND, LOW_RATE)
    sharpened = np.append(float(SOUND[0]), SOUND[1:] - 0.97 * SOUND[:-1])
    assert found.shape == (6, 13)
    for number in (0, 5):
        frame = sharpened[80 * number : 80 * number + 200]
        np.testing.assert_allclose(found[number], plain_cepstrum(frame, LOW_RATE), rtol=1e-9, atol=1e-9)


def test_silence_is_finite_and_constant():
    cepstra = mel_cepstra(np.zeros(1000, np.int16), LOW_RATE)
    assert np.array_equal(cepstra, np.zeros((11, 13)))


@pytest.mark.parametrize(("n", "frames"), [(0, 0), (199, 0), (200, 1), (279, 1), (280, 2)])
def test_only_whole_windows_make_frames(n, frames):
    assert mel_cepstra(SOUND[:n], LOW_RATE).shape == (frames, 13)
    assert len(frame_centres(n, LOW_RATE)) == frames
    assert with_derivatives(mel_cepstra(SOUND[:n], LOW_RATE)).shape == (frames, 39)


def test_derivatives_of_a_parabola():
    time = np.arange(20.0)
    found = with_derivatives(np.column_stack([time**2]))
    inner = slice(4, -4)
    np.testing.assert_allclose(found[inner, 1], 2 * time[inner])
    np.testing.assert_allclose(found[inner, 2], 2)
    assert np.array_equal(with_derivatives(np.ones((3, 2)))[:, 2:], np.zeros((3, 4)))


N_PHONES = 61


@pytest.fixture
def timit(mirror):
    """A folder in the layout of the LDC's disc: one sentence of 61 phones for each of four speakers."""
    spheres = "TRAIN/DR1/FCJF0/SI648", "TRAIN/DR1/FCJF0/SA1", "TEST/DR1/FELC0/SI756"
    for number, place in enumerate([*spheres, "TRAIN/DR2/MCEW0/SX92", "TEST/DR1/FAKS0/SI943"]):
        sound = noise(number, N_PHONES * 1440 / RATE)
        path = mirror / "timit" / f"{place}.WAV"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((sphere if place in spheres else riff)(sound))
        path.with_suffix(".PHN").write_bytes(phones(len(sound), [f"p{i}" for i in range(N_PHONES)]))
        path.with_suffix(".TXT").write_text("words")
    return mirror / "timit"


N_FRAMES = 1 + (N_PHONES * 1440 - 400) // 160


def test_a_folder_in_the_layout_of_the_ldc(timit):
    card = prepare("timit", progress=False)
    assert (card.n_train, card.n_test, card.n_features, card.n_classes) == (2 * N_FRAMES, N_FRAMES, 429, 183)
    data, development = load("timit"), load("timit_development")
    np.testing.assert_array_equal(data.X_train, development.X_train)
    assert not np.array_equal(data.X_test, development.X_test)
    assert set(data.classes) == {f"p{i}_{third}" for i in range(N_PHONES) for third in (1, 2, 3)}
    assert np.array_equal(data.y_test, data.y_train[:N_FRAMES]), "all sentences have the same phones"


def test_links_are_not_followed_and_other_files_do_not_count(timit):
    first = fetch("timit", progress=False)
    (timit / "TEST/DR1/FELC0/SI757.WAV").symlink_to(timit / "TEST/DR1/FELC0/SI756.WAV")
    (timit / "README.DOC").write_text("new")
    second = fetch("timit_development", progress=False)
    assert first.files[0].sha256 == second.files[0].sha256


def test_without_the_corpus_the_way_to_it_is_said(mirror):
    with pytest.raises(DatasetUnavailable, match=r"Get LDC93S1 from the LDC.*EIGENBENCH_MIRROR"):
        prepare("timit", progress=False)
    (mirror / "timit").mkdir()
    with pytest.raises(DatasetUnavailable, match="no file with suffix"):
        prepare("timit", progress=False)
