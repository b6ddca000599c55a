"""Steps of decoding: what they give, and that whatever the bytes they end well or in `MalformedData`."""

import bz2
import gzip
import io
import lzma
import tempfile
from pathlib import Path

import pytest
from damage import damaged, gives_or_complains
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.datasets import MalformedData
from eigenbench.datasets.archives import pack_tar
from eigenbench.datasets.decoding import adult_to_a9a, decode
from eigenbench.datasets.storage import HashingWriter

COMPRESS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
CONTENT = b"header\n" + b"39, Private, 77516, 13th\n" * 9


def decoded(data, *steps, limit=20_000):
    """Return what decoding gives, which is no more than the limit."""
    with tempfile.TemporaryDirectory() as folder:
        path, result = Path(folder) / "file", io.BytesIO()
        path.write_bytes(data)
        decode(path, steps, HashingWriter(result, "file", limit), limit)
    assert len(result.getvalue()) <= limit
    return result.getvalue()


@pytest.mark.parametrize("step", COMPRESS)
def test_every_compression_is_undone_and_every_truncation_noticed(step):
    packed = COMPRESS[step](CONTENT)
    assert decoded(packed, step) == CONTENT
    for end in range(1, len(packed)):
        with pytest.raises(MalformedData):
            decoded(packed[:end], step)


@pytest.mark.parametrize("step", COMPRESS)
@given(st.data())
def test_damaged_compression_then_any_step(step, data):
    packed = COMPRESS[step](data.draw(st.sampled_from([CONTENT, pack_tar([("a/b", b"x" * 600)])])))
    then = data.draw(st.sampled_from([(), ("drop_first_line",), ("label_last", "sort_lines"), ("pack_tar",)]))
    gives_or_complains(decoded, data.draw(damaged(packed)), step, *then)


@pytest.mark.parametrize("step", COMPRESS)
@pytest.mark.parametrize("then", [(), ("sort_lines",), ("adult_to_a9a",), ("pack_tar",)])
def test_a_bomb_is_stopped_at_the_limit(step, then):
    with pytest.raises(MalformedData):
        decoded(COMPRESS[step](b"0" * (8 << 20)), step, *then, limit=1000)


def test_steps_apply_in_order():
    data = gzip.compress(b"header\nB,2,3\nA,1,9\n")
    steps = ("gzip", "drop_first_line", "label_last", "sort_lines")
    assert decoded(data, *steps) == b"1,9,A\n2,3,B\n"
    with pytest.raises(MalformedData, match="no header line"):
        decoded(b"", "drop_first_line")


@given(damaged(CONTENT))
def test_the_census_step_takes_any_text(data):
    gives_or_complains(decoded, data, "adult_to_a9a")


@given(st.lists(st.binary(max_size=8).filter(lambda line: not set(line) & set(b"\r\n"))))
def test_sorted_lines_do_not_depend_on_the_order_they_came_in(lines):
    sorted_once = decoded(b"".join(line + b"\n" for line in lines), "sort_lines")
    assert sorted_once == decoded(b"".join(line + b"\n" for line in reversed(lines)), "sort_lines")
    assert sorted_once.split(b"\n")[:-1] == sorted(lines)


RECORD = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, <=50K"
)
A9A = b"-1 3:1 11:1 14:1 19:1 39:1 42:1 55:1 64:1 67:1 73:1 75:1 76:1 80:1 83:1 \n"
"""The first records of UCI's adult.data and of LIBSVM's a9a."""


def test_the_test_file_has_a_comment_and_full_stops():
    text = f"|1x3 Cross validator\n{RECORD}.\n\n{RECORD.replace('<=', '>')}.\n"
    assert adult_to_a9a(text.encode()) == A9A + A9A.replace(b"-1", b"+1")


def test_a_missing_value_sets_no_feature():
    assert adult_to_a9a(RECORD.replace("State-gov", "?").encode()) == A9A.replace(b"11:1 ", b"")


def test_a_value_belongs_to_the_bin_whose_upper_edge_it_equals():
    assert b" 1:1 " in adult_to_a9a(RECORD.replace("39,", "25,", 1).encode())
    assert b" 2:1 " in adult_to_a9a(RECORD.replace("39,", "26,", 1).encode())


@pytest.mark.parametrize(("old", "new"), [("White", "Wite"), ("77516", "many"), ("<=50K", "50K")])
def test_an_unknown_value_is_named_with_its_line(old, new):
    with pytest.raises(MalformedData, match=rf"line 2: unknown value \(.*{new}"):
        adult_to_a9a(f"{RECORD}\n{RECORD.replace(old, new)}".encode())
