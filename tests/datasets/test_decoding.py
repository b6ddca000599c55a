import bz2
import gzip
import io
import lzma
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.datasets import MalformedData
from eigenbench.datasets.decoding import decode
from eigenbench.datasets.storage import HashingWriter

COMPRESS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


def run(path, data, *steps, limit=1 << 20):
    path.write_bytes(data)
    result = io.BytesIO()
    decode(path, steps, HashingWriter(result, "file", limit), limit)
    return result.getvalue()


@pytest.mark.parametrize("step", COMPRESS)
def test_every_compression_is_undone(tmp_path, step):
    assert run(tmp_path / "f", COMPRESS[step](b"content" * 1000), step) == b"content" * 1000


@pytest.mark.parametrize("step", COMPRESS)
@pytest.mark.parametrize("then", [(), ("sort_lines",), ("adult_to_a9a",), ("pack_tar",)])
def test_a_bomb_is_stopped_at_the_limit(tmp_path, step, then):
    with pytest.raises(MalformedData):
        run(tmp_path / "f", COMPRESS[step](b"0" * (8 << 20)), step, *then, limit=1000)


def test_steps_apply_in_order(tmp_path):
    data = gzip.compress(b"header\nB,2,3\nA,1,9\n")
    steps = ("gzip", "drop_first_line", "label_last", "sort_lines")
    assert run(tmp_path / "f", data, *steps) == b"1,9,A\n2,3,B\n"


def test_a_missing_header_line_is_malformed(tmp_path):
    with pytest.raises(MalformedData, match="no header line"):
        run(tmp_path / "f", b"", "drop_first_line")


@given(st.lists(st.binary(max_size=8).filter(lambda line: not set(line) & set(b"\r\n"))))
def test_sorted_lines_do_not_depend_on_the_order_they_came_in(lines):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        sorted_once = run(path, b"".join(line + b"\n" for line in lines), "sort_lines")
        assert sorted_once == run(path, b"".join(line + b"\n" for line in reversed(lines)), "sort_lines")
        assert sorted_once.split(b"\n")[:-1] == sorted(lines)
