"""Read speech in the layout of TIMIT, as frames of mel-frequency cepstra with phone states.

Recordings are RIFF ``.wav`` or NIST SPHERE, which is parsed here because libsndfile (soundfile) takes a
truncated recording for a shorter one; cepstra are computed here because librosa and python_speech_features
define filters, window or logarithm differently.
"""

from __future__ import annotations

import io
import re
import struct
import wave
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, rfft
from scipy.ndimage import correlate1d

from eigenbench.datasets.archives import tar_members
from eigenbench.datasets.errors import MalformedData
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

_SPHERE_MAGIC = b"NIST_1A\n"
_SPHERE_FIELD = re.compile(r"(\w+) -(?:i ([+-]?\d{1,18})|r (\S+)|s\d{1,4} (.*))", re.ASCII)
_LARGEST_HEADER = 1 << 16
_CONVERT = "convert it, for example with 'sph2pipe -f wav', and put the result in its place"
_N_STATES = 3

WINDOW_SECONDS = 0.025
HOP_SECONDS = 0.010
_PRE_EMPHASIS = 0.97
_N_FILTERS, _N_CEPSTRA = 26, 13

#: Weights of five frames that give the slope of their regression line.
_SLOPE = (-0.2, -0.1, 0.0, 0.1, 0.2)

#: Energies of a filter below this, in units of squared 16-bit steps, count as silence.
_ENERGY_FLOOR = 1.0
_PHONE = re.compile(rb"(\d{1,12})[ \t]+(\d{1,12})[ \t]+([!-~]{1,20})\s*")


def read_speech_corpus(
    path: Path, *, part: Literal["train", "test"], test_speakers: Literal["core_test", "development"]
) -> RawRows:
    """Turn the recordings of one subset of speakers into frames, in the order of the files' names.

    The tar holds ``train/<dialect>/<speaker>/<sentence>.wav`` (RIFF or NIST SPHERE, also ``.sph``) and
    ``.phn`` beside it; upper or lower case, below any folder. The sentences ``sa1`` and ``sa2``, which all
    speakers of TIMIT read, are left out. The part ``test`` has the speakers of the list ``test_speakers``.

    Features are 429 a frame: 13 mel cepstra with first and second derivatives, of eleven frames around the
    row's. Labels ``aa_1`` to ``zh_3`` are the phone at the middle of the frame and which third of it. Frames
    that no phone covers are left out. TIMIT's training part, 1.1 million frames, needs 1.9 GB, and an
    eleventh of that while it is read. All recordings have one rate, 8 kHz or more.
    """
    subset = test_speakers if part == "test" else "train"
    utterances = [_frames(path.name, *files) for files in _utterances(path, subset)]
    if not utterances:
        raise MalformedData(path.name, "names of files", f"no recording of the {subset} speakers")
    all_frames, labels, covered, rates = zip(*utterances, strict=True)
    if len(set(rates)) > 1:
        raise MalformedData(path.name, "recordings", f"different sampling rates: {sorted(set(rates))}")
    ends = np.cumsum([int(known.sum()) for known in covered])
    width = (2 * CONTEXT_RADIUS + 1) * all_frames[0].shape[1]
    features = np.empty((ends[-1], width), dtype=np.float32)
    for frames, known, end in zip(all_frames, covered, ends, strict=True):
        features[end - known.sum() : end] = with_context(frames, CONTEXT_RADIUS)[known]
    return RawRows(features, np.concatenate(labels)[np.concatenate(covered)])


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
    samples, rate = parse_recording(*sound)
    if rate < _LOWEST_RATE:
        raise MalformedData(archive, f"member {sound[0]!r}", f"a rate of {rate} Hz, less than {_LOWEST_RATE}")
    labels, covered = phone_states(parse_phones(*listed), frame_centres(len(samples), rate))
    return with_derivatives(mel_cepstra(samples, rate)).astype(np.float32), labels, covered, rate


class Phone(NamedTuple):
    """A phone and its first sample and the one after its last."""

    start: int
    end: int
    label: str


def parse_recording(name: str, content: bytes) -> tuple[np.ndarray, int]:
    """Return int16 samples (n,) and rate of a recording, RIFF or, as TIMIT's ``.wav``, NIST SPHERE."""
    stream = io.BytesIO(content)
    if content.startswith(_SPHERE_MAGIC):
        return _read_sphere(name, stream)
    if content.startswith(b"RIFF"):
        return _read_riff(name, stream)
    magic = content[: len(_SPHERE_MAGIC)]
    raise MalformedData(name, "byte 0", f"{magic!r} starts neither a RIFF nor a NIST SPHERE file")


def parse_phones(name: str, content: bytes) -> tuple[Phone, ...]:
    """Read a ``.phn`` file: lines ``start end phone``, in samples, in order of time; there can be gaps."""
    phones: list[Phone] = []
    for number, line in enumerate(io.BytesIO(content), start=1):
        match = _PHONE.fullmatch(line)
        if match is None:
            raise MalformedData(name, f"line {number}", f"{line[:60]!r} is not 'start end phone'")
        phone = Phone(int(match[1]), int(match[2]), match[3].decode("ascii"))
        before = phones[-1].end if phones else 0
        if not before <= phone.start < phone.end:
            problem = f"{line[:60]!r} must start at {before} or later and end after its start"
            raise MalformedData(name, f"line {number}", problem)
        phones.append(phone)
    if not phones:
        raise MalformedData(name, "line 1", "no phones")
    return tuple(phones)


def phone_states(
    phones: Sequence[Phone], moments: NDArray[np.int64]
) -> tuple[NDArray[np.str_], NDArray[np.bool_]]:
    """Label moments, which are sample numbers, with phone and third of the phone: ``"aa_1"`` to ``"aa_3"``.

    Hidden Markov models give phones three states, begin, middle and end. Here they are thirds of equal
    length, since no alignment comes with the data. The second array says whether a phone covers the moment;
    where none does, its label is arbitrary. ``phones`` are in order of time, at least one.
    """
    starts = np.array([phone.start for phone in phones])
    ends = np.array([phone.end for phone in phones])
    names = np.array([f"{phone.label}_{state + 1}" for phone in phones for state in range(_N_STATES)])
    phone = np.maximum(np.searchsorted(starts, moments, side="right") - 1, 0)
    third = _N_STATES * (moments - starts[phone]) // (ends[phone] - starts[phone])
    labels = names[_N_STATES * phone + np.clip(third, 0, _N_STATES - 1)]
    return labels, (moments >= starts[phone]) & (moments < ends[phone])


def _read_riff(name: str, stream: io.BytesIO) -> tuple[np.ndarray, int]:
    try:
        with wave.open(stream) as sound:
            width, channels, n = sound.getsampwidth(), sound.getnchannels(), sound.getnframes()
            rate = sound.getframerate()
            if (width, channels) != (2, 1) or rate == 0:
                problem = f"{channels} channels of {8 * width} bits at {rate} Hz instead of one of 16"
                raise MalformedData(name, "header", problem)
            data = sound.readframes(min(n, stream.getbuffer().nbytes))
    except (wave.Error, EOFError, RuntimeError, ValueError, struct.error, OverflowError) as error:
        raise MalformedData(name, "header", str(error) or type(error).__name__) from error
    return _samples(name, data, n, "<i2"), rate


def _read_sphere(name: str, stream: io.BytesIO) -> tuple[np.ndarray, int]:
    fields = _sphere_header(name, stream)
    coding = fields.get("sample_coding", "pcm")
    if coding != "pcm":
        raise MalformedData(name, "header", f"sample_coding is {coding!r} instead of 'pcm'", _CONVERT)
    for field, value in (("channel_count", 1), ("sample_n_bytes", 2)):
        if fields.get(field, value) != value:
            raise MalformedData(name, "header", f"{field} is {fields[field]!r} instead of {value}")
    order = {"01": "<i2", "10": ">i2"}.get(str(fields.get("sample_byte_format")))
    n, rate = fields.get("sample_count"), fields.get("sample_rate")
    if order is None or not isinstance(n, int) or not isinstance(rate, int) or n < 0 or rate <= 0:
        needed = ("sample_byte_format", "sample_count", "sample_rate")
        problem = ", ".join(f"{field} is {fields.get(field)!r}" for field in needed)
        raise MalformedData(name, "header", problem)
    return _samples(name, stream.read(), n, order), rate


def _sphere_header(name: str, stream: io.BytesIO) -> dict[str, int | str]:
    """Return the fields of the header, reals as text, and leave the stream at the first sample."""
    stream.seek(len(_SPHERE_MAGIC))
    line = stream.readline(32)
    length = int(line) if re.fullmatch(rb" *\d{1,7}\n", line) else 0
    if not len(_SPHERE_MAGIC) + len(line) < length <= _LARGEST_HEADER:
        raise MalformedData(name, "line 2", f"{line!r} is no length of a header")
    rest = stream.read(length - stream.tell())
    text, end, _ = rest.decode("latin-1").partition("\nend_head")
    if not end or stream.tell() != length:
        raise MalformedData(name, "header", f"no 'end_head' within {length} bytes")
    fields: dict[str, int | str] = {}
    for number, entry in enumerate(text.split("\n"), start=3):
        if not entry.strip() or entry.startswith(";"):
            continue
        match = _SPHERE_FIELD.fullmatch(entry.rstrip())
        if match is None:
            raise MalformedData(name, f"line {number}", f"{entry[:60]!r} is not 'name -type value'")
        field, whole, real, characters = match.groups()
        fields[field] = int(whole) if whole is not None else real if real is not None else characters
    return fields


def _samples(name: str, data: bytes, n: int, dtype: str) -> np.ndarray:
    if len(data) < 2 * n:
        raise MalformedData(name, "samples", f"{len(data) // 2} of {n} that the header announces")
    return np.frombuffer(data, dtype=dtype, count=n).astype(np.int16)


def frame_centres(n_samples: int, rate: int) -> NDArray[np.int64]:
    """Return the sample at the middle of every frame; only whole windows make a frame."""
    window, hop = round(WINDOW_SECONDS * rate), round(HOP_SECONDS * rate)
    n_frames = max(0, 1 + (n_samples - window) // hop)
    return np.arange(n_frames) * hop + window // 2


def mel_cepstra(samples: NDArray[np.int16], rate: int) -> NDArray[np.float64]:
    """Compute mel-frequency cepstral coefficients of a sound, one row a frame, the zeroth (loudness) first.

    Windows of 25 ms every 10 ms, pre-emphasis 0.97, Hamming window, power spectrum, 26 triangular filters
    whose corners are equally spaced on the mel scale between 0 and half the rate, logarithm, orthonormal
    cosine transform. The definition is that of S. Davis and P. Mermelstein, "Comparison of parametric
    representations for monosyllabic word recognition", IEEE Trans. ASSP, 1980. ``rate``: at least 8,000.
    """
    window, hop = round(WINDOW_SECONDS * rate), round(HOP_SECONDS * rate)
    sound = samples.astype(np.float64)
    sound[1:] -= _PRE_EMPHASIS * samples[:-1]
    if len(sound) < window:
        return np.empty((0, _N_CEPSTRA))
    frames = np.lib.stride_tricks.sliding_window_view(sound, window)[::hop] * np.hamming(window)
    size = 1 << (window - 1).bit_length()
    power = np.abs(rfft(frames, size, axis=1)) ** 2 / size
    energies = np.maximum(power @ mel_filters(size, rate).T, _ENERGY_FLOOR)
    return dct(np.log(energies), norm="ortho", axis=1)[:, :_N_CEPSTRA]


def mel_filters(size: int, rate: int) -> NDArray[np.float64]:
    """Return the weights of the triangular filters over the bins of a spectrum, (26, size // 2 + 1)."""
    highest = 2595 * np.log10(1 + rate / 2 / 700)
    corners = 700 * (10 ** (np.linspace(0, highest, _N_FILTERS + 2) / 2595) - 1)
    frequencies = np.arange(size // 2 + 1) * (rate / size)
    rising = (frequencies - corners[:-2, None]) / np.diff(corners)[:-1, None]
    falling = (corners[2:, None] - frequencies) / np.diff(corners)[1:, None]
    return np.clip(np.minimum(rising, falling), 0, None)


def with_derivatives(cepstra: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append first and second derivatives in time, by slopes over five frames, (n, c) → (n, 3c)."""
    if not len(cepstra):
        return np.empty((0, 3 * cepstra.shape[1]))
    first = correlate1d(cepstra, _SLOPE, axis=0, mode="nearest")
    return np.hstack([cepstra, first, correlate1d(first, _SLOPE, axis=0, mode="nearest")])


def with_context(frames: NDArray[np.floating], radius: int) -> NDArray[np.floating]:
    """Return every frame with ``radius`` neighbours on either side; beyond the ends these are repeated."""
    if not len(frames):
        return np.empty((0, (2 * radius + 1) * frames.shape[1]), frames.dtype)
    padded = np.pad(frames, ((radius, radius), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1, axis=0)
    return windows.transpose(0, 2, 1).reshape(len(frames), -1)
