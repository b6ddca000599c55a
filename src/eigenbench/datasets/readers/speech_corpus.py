"""A corpus of read speech in the layout of TIMIT, as frames of cepstra with phone states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eigenbench.datasets.archives import tar_members
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.audio import (
    frame_centres,
    mel_cepstra,
    parse_phones,
    parse_recording,
    phone_states,
    with_context,
    with_derivatives,
)
from eigenbench.datasets.readers.raw_rows import RawRows

#: Eleven frames: this one and five on either side.
CONTEXT_RADIUS = 5

_CORE_TEST = """
mdab0 mwbt0 felc0 mtas1 mwew0 fpas0 mjmp0 mlnt0 fpkt0 mlll0 mtls0 fjlm0
mbpm0 mklt0 fnlp0 mcmj0 mjdh0 fmgd0 mgrt0 mnjm0 fdhc0 mjln0 mpam0 fmld0
"""

_DEVELOPMENT = """
faks0 fdac1 fjem0 mgwt0 mjar0 mmdb1 mmdm2 mpdf0 fcmh0 fkms0 mbdg0 mbwm0 mcsh0 fadg0 fdms0 fedw0 mgjf0
mglb0 mrtk0 mtaa0 mtdt0 mthc0 mwjg0 fnmr0 frew0 fsem0 mbns0 mmjr0 mdls0 mdlf0 mdvc0 mers0 fmah0 fdrw0
mrcs0 mrjm4 fcal1 mmwh0 fjsj0 majc0 mjsw0 mreb0 fgjd0 fjmg0 mroa0 mteb0 mjfc0 mrjr0 fmml0 mrws1
"""

#: The core test set of the corpus's documentation, two men and a woman of each of the eight dialects; and the
#: fifty speakers on whom most of the field tunes (Halberstadt, PhD thesis, MIT, 1998).
_TEST_SPEAKERS = {"core_test": frozenset(_CORE_TEST.split()), "development": frozenset(_DEVELOPMENT.split())}

_LARGEST_CORPUS = 1 << 34
_LOWEST_RATE = 8000


def read_speech_corpus(
    path: Path, *, part: Literal["train", "test"], test_speakers: Literal["core_test", "development"]
) -> RawRows:
    """Turn the recordings of one subset of speakers into frames.

    The tar holds ``train/<dialect>/<speaker>/<sentence>.wav`` (RIFF or NIST SPHERE, also ``.sph``) and
    ``.phn`` beside it; upper or lower case, below any folder. The sentences ``sa1`` and ``sa2``, which all
    speakers of TIMIT read, are left out. The part ``test`` has the speakers of the list ``test_speakers``.

    Features are 429 a frame: 13 mel cepstra with first and second derivatives, of eleven frames around the
    row's. Labels ``aa_1`` to ``zh_3`` are the phone at the middle of the frame and which third of it. Frames
    that no phone covers are left out. Rows are in the order of the names of the files. TIMIT's training part,
    1.1 million frames, needs 1.9 GB, and an eleventh of that while it is read.

    Raises `MalformedData` for a damaged archive, recording or list of phones, a recording without phones or
    the reverse, a rate below 8 kHz or another one than before, or no recording of the subset.
    """
    subset = test_speakers if part == "test" else "train"
    utterances = [_frames(path.name, *files) for files in _utterances(path, subset)]
    if not utterances:
        raise MalformedData(path.name, "names of files", f"no recording of the {subset} speakers")
    if len({rate for _, _, _, rate in utterances}) > 1:
        rates = sorted({rate for _, _, _, rate in utterances})
        raise MalformedData(path.name, "recordings", f"different sampling rates: {rates}")
    width = (2 * CONTEXT_RADIUS + 1) * utterances[0][0].shape[1]
    features = np.empty((sum(int(covered.sum()) for _, _, covered, _ in utterances), width), dtype=np.float32)
    stop = 0
    for frames, _, covered, _ in utterances:
        rows = np.empty((len(frames), width), dtype=np.float32)
        with_context(frames, CONTEXT_RADIUS, rows)
        start, stop = stop, stop + int(covered.sum())
        features[start:stop] = rows[covered]
    return RawRows(features, np.concatenate([labels[covered] for _, labels, covered, _ in utterances]))


_File = tuple[str, bytes]


def _utterances(path: Path, subset: str) -> Iterator[tuple[_File, _File]]:
    """Yield recording and phones of the sentences of a subset, each a name and content, in their order."""
    sounds: dict[str, _File] = {}
    phones: dict[str, _File] = {}
    with path.open("rb") as stream:
        for name, content in tar_members(path.name, stream, _LARGEST_CORPUS):
            place = PurePosixPath(name.lower())
            kind = {".wav": sounds, ".sph": sounds, ".phn": phones}.get(place.suffix)
            if kind is None or not _belongs(place, subset):
                continue
            sentence = str(place.with_suffix(""))
            if sentence in kind:
                raise MalformedData(path.name, f"member {name!r}", "a second file of the same sentence")
            kind[sentence] = name, content
    for sentence in sorted(sounds.keys() ^ phones.keys()):
        name, _ = sounds.get(sentence) or phones[sentence]
        missing = "list of phones" if sentence in sounds else "recording"
        raise MalformedData(path.name, f"member {name!r}", f"no {missing} beside it")
    for sentence in sorted(sounds):
        yield sounds.pop(sentence), phones.pop(sentence)


def _belongs(place: PurePosixPath, subset: str) -> bool:
    if len(place.parts) < 4 or place.stem in ("sa1", "sa2"):
        return False
    part, _, speaker, _ = place.parts[-4:]
    if subset == "train":
        return part == "train"
    return part == "test" and speaker in _TEST_SPEAKERS[subset]


def _frames(
    archive: str, sound: _File, listed: _File
) -> tuple[NDArray[np.float32], NDArray[np.str_], NDArray[np.bool_], int]:
    """Return frames without context, their labels, which of them count, and the sampling rate."""
    recording = parse_recording(*sound)
    if recording.rate < _LOWEST_RATE:
        name = f"member {sound[0]!r}"
        raise MalformedData(archive, name, f"a rate of {recording.rate} Hz, less than {_LOWEST_RATE}")
    phones = parse_phones(*listed)
    cepstra = mel_cepstra(recording.samples, recording.rate)
    labels, covered = phone_states(phones, frame_centres(len(recording.samples), recording.rate))
    return with_derivatives(cepstra).astype(np.float32), labels, covered, recording.rate
