"""Whatever the bytes, archives, decoding steps and readers end well or in `MalformedData`.

Readers of formats that hold users' own files have the same test; here are the steps that every file passes
through. Other readers read files whose sum is known before.
"""

from __future__ import annotations

import bz2
import gzip
import inspect
import io
import lzma
import tempfile
import zipfile
from pathlib import Path
from typing import get_args

import pytest
from damage import damaged, gives_or_complains
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.datasets import MalformedData
from eigenbench.datasets.archives import pack_tar, zip_members
from eigenbench.datasets.decoding import decode
from eigenbench.datasets.formats import AnyFormat
from eigenbench.datasets.readers import READERS
from eigenbench.datasets.storage import HashingWriter

LIMIT = 20_000


def decoded(data, *steps):
    """Return what decoding gives."""
    with tempfile.TemporaryDirectory() as folder:
        path, result = Path(folder) / "file", io.BytesIO()
        path.write_bytes(data)
        decode(path, steps, HashingWriter(result, "file", LIMIT), LIMIT)
        assert len(result.getvalue()) <= LIMIT
        return result.getvalue()


CONTENT = b"header\n" + b"39, Private, 77516, 13th\n" * 9
COMPRESSED = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("step", COMPRESSED)
@given(st.data())
def test_damaged_compression_then_any_step(step, data):
    packed = COMPRESSED[step](data.draw(st.sampled_from([CONTENT, pack_tar([("a/b", b"x" * 600)])])))
    then = data.draw(st.sampled_from([(), ("drop_first_line",), ("label_last", "sort_lines"), ("pack_tar",)]))
    gives_or_complains(decoded, data.draw(damaged(packed)), step, *then)


@pytest.mark.parametrize("step", COMPRESSED)
def test_every_truncation_of_a_compressed_file_is_noticed(step):
    packed = COMPRESSED[step](CONTENT)
    for end in range(1, len(packed)):
        with pytest.raises(MalformedData):
            decoded(packed[:end], step)


@given(damaged(CONTENT))
def test_the_census_step_takes_any_text(data):
    gives_or_complains(decoded, data, "adult_to_a9a")


def zip_file(compression):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name in ("folder/a.csv", "folder/b.csv"):
            archive.writestr(zipfile.ZipInfo(name), name.encode() * 40, compression)
    return content.getvalue()


@given(
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    .map(zip_file)
    .flatmap(damaged)
)
def test_a_damaged_zip(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.zip"
        path.write_bytes(data)
        members = gives_or_complains(lambda: list(zip_members(path, "folder/*.csv", LIMIT)))
        assert sum(len(content) for _, content in members or []) <= LIMIT
        assert [found.name for found in Path(folder).rglob("*")] == ["a.zip"], "nothing is unpacked"


def test_every_option_of_a_format_is_one_of_its_reader():
    formats = get_args(get_args(AnyFormat)[0])
    named = {name: form for form in formats for name in get_args(form.model_fields["reader"].annotation)}
    assert set(named) == set(READERS) | {"partitions"}
    for name, reader in READERS.items():
        wanted = inspect.signature(reader).parameters
        assert "options" in wanted or set(named[name].model_fields) - {"reader"} <= set(wanted), name
