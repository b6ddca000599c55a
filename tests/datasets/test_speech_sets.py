"""A user's folder in TIMIT's layout as a dataset."""

import numpy as np
import pytest
from sounds import riff, sphere

from eigenbench.datasets import DatasetUnavailable, fetch, load, prepare

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
