"""Whatever the bytes, archives, decoding steps and readers end well or in `MalformedData`.

The readers' own files have the same test for their formats; here are the ones that every file passes through,
the readers that take a font or several files, and a check that no reader goes without.
"""

from __future__ import annotations

import bz2
import gzip
import inspect
import io
import lzma
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import get_args
from unittest import mock

import matplotlib
import numpy as np
import pytest
from damage import damaged, gives_or_complains, read_bytes, reads_or_complains
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from eigenbench.datasets import MalformedData
from eigenbench.datasets.archives import pack_tar, zip_members
from eigenbench.datasets.decoding import decode
from eigenbench.datasets.formats import Alphabet, AnyFormat, PrintedFormat
from eigenbench.datasets.planted_labels import PlantedLabels
from eigenbench.datasets.readers import READERS
from eigenbench.datasets.readers.gisette import read_gisette_rebuilt
from eigenbench.datasets.readers.planted import read_planted_labels
from eigenbench.datasets.readers.printed import read_printed
from eigenbench.datasets.storage import HashingWriter

LIMIT = 20_000
FONT = (Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "cmb10.ttf").read_bytes()


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


STYLE = PrintedFormat(
    reader="printed",
    train=Alphabet(characters="Ag", images=1),
    test=Alphabet(characters="Ag", images=1),
    size=28,
    extent=0.7,
    blur=0.5,
    seed=0,
)


@settings(max_examples=60)
@given(damaged(FONT))
def test_a_damaged_font(data):
    def draw(path):
        return read_printed(path, options=STYLE, part="train")

    rows = gives_or_complains(read_bytes, draw, data)
    assert rows is None or rows.features.shape == (2, 784)


def idx(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


@given(st.tuples(*[damaged(idx(np.zeros(shape, np.uint8))) for shape in [(2, 28, 28), (2,)] * 2]))
def test_damaged_digits_to_rebuild_from(files):
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"file{number}" for number in range(4)]
        for path, data in zip(paths, files, strict=True):
            path.write_bytes(data)
        assert gives_or_complains(read_gisette_rebuilt, *paths, seed=0) is None


RECIPE = b'{"n_rows": 9, "n_features": 40, "n_labels": 4, "rank": 2, "nonzeros_per_row": 3, "seed": 1}'


@given(damaged(RECIPE))
def test_damaged_recipes(data):
    nothing = csr_array((1, 40), dtype=np.float32), csr_array((1, 4), dtype=np.uint8)
    with mock.patch.object(PlantedLabels, "make", return_value=nothing):  # sizes may be anything
        reads_or_complains(read_planted_labels, data)


def test_every_reader_has_a_test_of_damaged_files():
    tests = [*Path(__file__).parent.glob("readers/test_*.py"), Path(__file__)]
    with_damage = "".join(text for path in tests if "@given(" in (text := path.read_text()))
    assert "damaged(" in with_damage
    assert {reader.__name__ for reader in READERS.values() if reader.__name__ not in with_damage} == set()


def test_every_option_of_a_format_is_one_of_its_reader():
    formats = get_args(get_args(AnyFormat)[0])
    named = {name: form for form in formats for name in get_args(form.model_fields["reader"].annotation)}
    assert set(named) == set(READERS) | {"partitions"}
    for name, reader in READERS.items():
        wanted = inspect.signature(reader).parameters
        assert "options" in wanted or set(named[name].model_fields) - {"reader"} <= set(wanted), name
