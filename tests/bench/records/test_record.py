"""Records keep what was measured, and show when they were changed afterwards."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from eigenbench.atomic_files import write_json
from eigenbench.bench.exhibits import Boxes, Histogram, Images, Scatter
from eigenbench.bench.records.record import (
    Record,
    RecordError,
    read_record,
    read_record_and_files,
    write_record,
)
from eigenbench.bench.records.sealed_json import DamagedFileError, file_sums, read_sealed, write_sealed

BASE = {
    "run_key": "0123456789abcdef",
    "suite": "s",
    "experiment": "e",
    "dataset": "d",
    "method": "m",
    "classifier": "c",
    "seed": 0,
    "deterministic": False,
    "status": "ok",
}
AGAIN = "run the same snakemake command again: it is made again"


@pytest.fixture
def record():
    params = {"seal": "0" * 64, "note": '\n "seal": "' + "f" * 64, "inner": {"seal": "a" * 64}}
    return Record(**BASE, metrics={"test_error": 0.25}, curves={"loss": [(0, 1.0), (1, 0.5)]}, params=params)


@pytest.fixture
def path(tmp_path, record):
    path = tmp_path / "results" / "record.json"
    write_record(path, record)
    return path


def test_a_record_survives_the_round_trip(path, record):
    assert read_record(path) == record


def test_the_seal_is_the_digest_of_the_file_without_it(path):
    content = path.read_bytes()
    seal = json.loads(content)["seal"]
    assert content.count(seal.encode()) == 1
    assert hashlib.sha256(content.replace(seal.encode(), b"0" * 64)).hexdigest() == seal


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"0.25", b"0.0001"),
        (b'"status": "ok"', b'"status": "failed"'),
        (b'\n "seed": 0', b'\n "seed": 1'),
        (b"\n}\n", b"\n}"),
        (b"\n}\n", b"\n}\n\n"),
        (b'"seal": "a', b'"seal": "b'),
    ],
)
def test_an_edited_record_is_refused_by_name(path, old, new):
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))
    with pytest.raises(RecordError, match=rf"record\.json: was changed after it was written .*{AGAIN}"):
        read_record(path)


@pytest.mark.parametrize("other", ["0" * 64, "f" * 64, "", None])
def test_an_edited_seal_is_refused(path, other):
    seal = json.loads(path.read_bytes())["seal"]
    path.write_text(path.read_text().replace(seal, seal.upper() if other is None else other))
    with pytest.raises(RecordError, match="was changed after it was written"):
        read_record(path)


@pytest.mark.parametrize("content", [b"[1]", b"{}", b"null", b"3\n", b'{"seal": "' + b"0" * 64 + b'"}'])
def test_json_that_is_no_record_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(RecordError, match=rf"record\.json: not a run record; {AGAIN}"):
        read_record(path)


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b"[" * 100_000, *map(slice, (0, 1, 40, -2))])
def test_what_is_cut_short_or_no_json_is_refused_with_file_and_remedy(path, content):
    path.write_bytes(path.read_bytes()[content] if isinstance(content, slice) else content)
    with pytest.raises(RecordError, match=rf"record\.json: not a run record \(.*{AGAIN}"):
        read_record(path)


def test_a_record_of_the_earlier_version_is_refused(path):
    write_json(path, BASE | {"schema_version": 1})
    with pytest.raises(
        RecordError, match=rf"record\.json: has schema version 1, .* reads version 2; {AGAIN}"
    ):
        read_record(path)


def test_what_is_missing_is_refused(tmp_path):
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(RecordError, match=f"{re.escape(str(path))}: cannot be read .*{AGAIN}"):
            read_record(path)


def test_an_unknown_field_is_refused_under_an_intact_seal(path):
    content = path.read_bytes().replace(b'"deterministic"', b'"surprise"')
    seal = json.loads(content)["seal"].encode()
    digest = hashlib.sha256(content.replace(seal, b"0" * 64)).hexdigest()
    path.write_bytes(content.replace(seal, digest.encode()))
    with pytest.raises(RecordError, match=r"record\.json: not a run record \(deterministic: Field required"):
        read_record(path)


def test_pictures_without_content_are_left_out(path, record):
    """Those of protocols of one's own, and of runs before this was so."""
    boxes = Boxes(title="t", groups={"0": (0.0, 1.0, 2.0, 3.0, 4.0)}, y_label="v")
    empty = [
        Scatter(title="t", x=[], y=[], labels=[]),
        Histogram(title="t", edges=[0.0, 1.0], densities={}, x_label="d"),
        Images(title="t", height=2, width=3, rows={"first": []}),
        Boxes(title="t", groups={}, y_label="v"),
    ]
    exhibits = [one.model_dump(mode="json") for one in (*empty, boxes)]
    write_sealed(path, record.model_dump(mode="json") | {"exhibits": exhibits})
    assert read_record(path).exhibits == [boxes]


@pytest.fixture
def beside(tmp_path, record):
    """The path of a record with two files beside it."""
    for name in ("predictions.npz", "model.skops"):
        (tmp_path / name).write_bytes(name.encode() * 10)
    files = file_sums(tmp_path, "predictions.npz", "model.skops")
    write_record(tmp_path / "record.json", Record.model_validate(record.model_dump() | {"files": files}))
    return tmp_path / "record.json"


def test_files_that_are_intact_or_not_used_are_no_obstacle(beside):
    model = beside.with_name("model.skops")
    intact = model.read_bytes()
    model.write_bytes(b"other")
    assert read_record_and_files(beside, "predictions.npz") == read_record(beside)
    beside.with_name("predictions.npz").unlink()
    assert read_record_and_files(beside, "predictions.npz") == read_record(beside), (
        "what is absent is not used"
    )
    model.write_bytes(intact)
    with pytest.raises(DamagedFileError, match=r"predictions\.npz: cannot be read"):
        read_sealed(beside)


def test_a_file_that_was_altered_is_named_and_set_aside(beside):
    model = beside.with_name("model.skops")
    model.write_bytes(model.read_bytes()[::-1])
    with pytest.raises(DamagedFileError, match=r"model\.skops: not as its record says; set aside"):
        read_record_and_files(beside, "model.skops")
    beside.write_bytes(beside.read_bytes().replace(b"0.25", b"0.24"))
    with pytest.raises(DamagedFileError, match=r"record\.json: changed after it was written; set aside"):
        read_sealed(beside)
    names = {path.name for path in beside.parent.iterdir()}
    assert names == {"predictions.npz", "model.skops.refused", "record.json.refused"}


def test_texts_of_a_record_have_no_invisible_characters(tmp_path):
    """An exception, a class name or a key can hold what moves a terminal's cursor or turns text around."""
    failure = {
        "stage": "fit",
        "type": "E",
        "message": "a\x1b]0;owned\x07\x9b2J\n\tline two \u202egnp.exe \ud800 Ω",
    }
    fields = BASE | {"status": "failed", "failure": failure, "params": {"k\x1b[2J": ["\u2066x", 1]}}
    write_record(tmp_path / "record.json", Record(**fields))
    read = read_record(tmp_path / "record.json")
    assert read.failure.message == (r"a\x1b]0;owned\x07\x9b2J" + "\n\t" + r"line two \u202egnp.exe \ud800 Ω")
    assert read.params == {r"k\x1b[2J": [r"\u2066x", 1]}
