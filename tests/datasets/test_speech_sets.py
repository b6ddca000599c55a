"""Corpora of speech as datasets: a user's folder in TIMIT's layout, and the synthetic stand-in."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from sounds import riff, sphere

from eigenbench.datasets import DatasetUnavailable, MalformedData, fetch, load, load_catalogue, prepare
from eigenbench.datasets.readers.audio import parse_phones
from eigenbench.datasets.readers.speech_corpus import read_speech_corpus
from eigenbench.datasets.speech.synthetic_corpus import phone_list, resampled, speakers, synthesise
from eigenbench.datasets.speech.timit_speakers import CORE_TEST, DEVELOPMENT

N_PHONES = 61


@pytest.fixture
def timit(mirror):
    """A folder in the layout of the LDC's disc: one sentence of 61 phones for each of four speakers."""
    step = 1440
    lines = "".join(f"{i * step} {(i + 1) * step} p{i}\n" for i in range(N_PHONES))
    for number, (place, write) in enumerate(
        {
            "TRAIN/DR1/FCJF0/SI648": sphere,
            "TRAIN/DR1/FCJF0/SA1": sphere,
            "TRAIN/DR2/MCEW0/SX92": riff,
            "TEST/DR1/FELC0/SI756": sphere,
            "TEST/DR1/FAKS0/SI943": riff,
        }.items()
    ):
        sound = np.random.default_rng(number).integers(-4000, 4000, N_PHONES * step).astype(np.int16)
        path = mirror / "timit" / f"{place}.WAV"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(write(sound))
        path.with_suffix(".PHN").write_text(lines)
        path.with_suffix(".TXT").write_text("words")
    return mirror / "timit"


FRAMES = 1 + (N_PHONES * 1440 - 400) // 160


def test_a_folder_in_the_layout_of_the_ldc(timit):
    card = prepare("timit", progress=False)
    assert (card.n_train, card.n_test, card.n_features, card.n_classes) == (2 * FRAMES, FRAMES, 429, 183)
    data, development = load("timit"), load("timit_development")
    np.testing.assert_array_equal(data.X_train, development.X_train)
    assert not np.array_equal(data.X_test, development.X_test)
    assert set(data.classes) == {f"p{i}_{third}" for i in range(N_PHONES) for third in (1, 2, 3)}
    assert np.array_equal(data.y_test, data.y_train[:FRAMES]), "all sentences have the same phones"


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


def test_a_corpus_that_lacks_phones_of_timit_is_refused(timit):
    for path in timit.rglob("*.PHN"):
        path.write_text("0 80000 aa\n")
    with pytest.raises(MalformedData, match="3 classes, the catalogue says 183"):
        prepare("timit", progress=False)


def test_test_voices_are_not_heard_in_training():
    cast = list(speakers())
    heard = {speaker.voice.variant for speaker in cast if speaker.folder.startswith("train")}
    unheard = {speaker.voice.variant for speaker in cast if speaker.folder.startswith("test")}
    names = {speaker.folder.split("/")[2] for speaker in cast if speaker.folder.startswith("test")}
    assert not heard & unheard
    assert names == CORE_TEST | DEVELOPMENT
    assert len({speaker.folder for speaker in cast}) == len(cast) == 120 + 74
    assert list(speakers()) == cast


def test_a_list_of_phones_is_readable_and_complete():
    found = parse_phones("x", phone_list([(0, "_:"), (441, "a"), (882, "s"), (882, "t")], 2205, 22050))
    assert [(phone.start, phone.end, phone.label) for phone in found] == [
        (0, 320, "pau"),
        (320, 640, "a"),
        (640, 1600, "t"),
    ]


def test_resampling_keeps_a_tone():
    time = np.arange(22050) / 22050
    tone = resampled((8000 * np.sin(2 * np.pi * 1000 * time)).astype(np.int16), 22050)
    expected = 8000 * np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    assert len(tone) == 16000
    np.testing.assert_allclose(tone[200:-200], expected[200:-200], atol=40)


needs_espeak = pytest.mark.skipif(find_spec("espeakng_loader") is None, reason="needs the extra speech")


@pytest.mark.workflow
@needs_espeak
def test_synthetic_speech_is_the_same_each_time_and_is_read(tmp_path):
    cast = [speaker for speaker in speakers() if speaker.folder.endswith(("s000", "s001", "felc0", "faks0"))]
    paths = [tmp_path / "one.tar", tmp_path / "two.tar"]
    for path in paths:
        synthesise(path, cast)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    train, core = (read_speech_corpus(paths[0], subset=subset) for subset in ("train", "core_test"))
    assert train.features.shape[0] > 1.5 * core.features.shape[0] > 1000
    assert np.isfinite(train.features).all()
    states = set(train.labels.tolist())
    assert {"pau_1", "s_2", "n_3"} <= states
    assert len(states) > 90


@needs_espeak
def test_an_unknown_voice_ends_in_an_error(tmp_path):
    speaker = next(speakers())
    wrong = type(speaker)(speaker.folder, type(speaker.voice)("en-us", "nobody", 150, 50, 50))
    with pytest.raises(RuntimeError, match="status 1"):
        synthesise(tmp_path / "x.tar", [wrong])


def test_without_the_synthesiser_the_way_to_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    with pytest.raises(DatasetUnavailable, match=r"eigenbench\[speech\]"):
        prepare("speech_synthetic", progress=False)
    assert load_catalogue().entry("speech_synthetic").title.startswith("SYNTHETIC")
