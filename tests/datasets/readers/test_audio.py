import struct

import numpy as np
import pytest
from damage import damaged
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sounds import riff, sphere

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers.audio import Phone, parse_phones, parse_recording, phone_states

SAMPLES = hnp.arrays(np.int16, st.integers(0, 40))
FEW = np.array([0, 1, -2, 32767, -32768], dtype=np.int16)


@given(SAMPLES, st.sampled_from([8000, 16000]))
def test_riff_round_trip(samples, rate):
    recording = parse_recording("file", riff(samples, rate=rate))
    np.testing.assert_array_equal(recording.samples, samples)
    assert (recording.rate, recording.samples.dtype) == (rate, np.int16)


@given(SAMPLES, st.sampled_from(["<i2", ">i2"]), st.sampled_from([1024, 2048]))
def test_sphere_round_trip(samples, order, size):
    recording = parse_recording("file", sphere(samples, order, size))
    np.testing.assert_array_equal(recording.samples, samples)
    assert (recording.rate, recording.samples.dtype) == (16000, np.int16)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "neither a RIFF nor a NIST SPHERE"),
        (b"fLaC....", "neither"),
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
    ],
)
def test_what_is_wrong_is_said(data, message):
    with pytest.raises(MalformedData, match=message) as caught:
        parse_recording("file", data)
    assert caught.value.file == "file"


@pytest.mark.parametrize("coding", ["-s26 pcm,embedded-shorten-v2.00", "-s4 ulaw"])
def test_a_compressed_file_is_refused_with_the_way_to_convert_it(coding):
    with pytest.raises(MalformedData, match=r"sample_coding is .*sph2pipe"):
        parse_recording("file", sphere(FEW, sample_coding=coding))


def test_an_announced_size_beyond_the_file_takes_no_memory():
    data = bytearray(riff(FEW))
    for place in (4, 40):
        data[place : place + 4] = struct.pack("<I", 2**32 - 2)
    with pytest.raises(MalformedData):
        parse_recording("file", bytes(data))


def test_phones():
    phones = parse_phones("file", b"0 3050 h#\n3050 4559 sh\r\n4600 5723 ax-h\n")
    assert [(phone.start, phone.end, phone.label) for phone in phones] == [
        (0, 3050, "h#"),
        (3050, 4559, "sh"),
        (4600, 5723, "ax-h"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "is not 'start end phone'"),
        (b"10 20", "is not"),
        (b"10 20 s h", "is not"),
        (b"x 20 sh", "is not"),
        (b"-1 20 sh", "is not"),
        (b"9 20 sh", "must start at 10"),
        (b"12 12 sh", "end after its start"),
    ],
)
def test_the_line_of_a_wrong_phone_is_named(line, message):
    with pytest.raises(MalformedData, match=message) as caught:
        parse_phones("file", b"0 10 h#\n" + line + b"\n")
    assert "file, line 2" in str(caught.value)


def test_a_file_without_phones_is_refused():
    with pytest.raises(MalformedData, match="no phones"):
        parse_phones("file", b"")


def reads_or_complains(reader, data):
    try:
        reader("file", data)
    except MalformedData as error:
        complaint = (error.file, error.place, error.problem)
    else:
        complaint = ("file", "nowhere", "none")
    assert all(complaint)


@given(damaged(riff(FEW)))
def test_damaged_riff_ends_in_malformed_data(data):
    reads_or_complains(parse_recording, data)


@given(damaged(sphere(FEW, size=256)))
def test_damaged_sphere_ends_in_malformed_data(data):
    reads_or_complains(parse_recording, data)


@given(damaged(b"0 3050 h#\n3050 4559 sh\n"))
def test_damaged_phones_end_in_malformed_data(data):
    reads_or_complains(parse_phones, data)


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
