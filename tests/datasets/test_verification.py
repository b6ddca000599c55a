"""Datasets that were altered, damaged or edited since their preparation are noticed and prepared again."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from small_table import TABLE, catalogue_of, prepared, raw, sha256, table_entry

from eigenbench.datasets import AlteredData, MalformedData, fetch, is_current, prepare, verify_prepared

PREPARED = ["X_all.npy", "y_all.npy", "card.json"]
EDITED = TABLE.replace(b"\n17,", b"\n99,")


def raw_file():
    return raw() / "table.csv"


@pytest.fixture
def pinned(mirror):
    """Prepare a table whose sum the catalogue has; return the catalogue."""
    (mirror / "table.csv").write_bytes(TABLE)
    catalogue = catalogue_of(t=table_entry({"mirror": "table.csv"}))
    prepare("t", catalogue=catalogue, progress=False)
    return catalogue


@pytest.mark.parametrize("name", PREPARED)
def test_one_altered_byte_is_noticed_though_size_and_time_are_put_back(pinned, name):
    path = prepared() / name
    times = path.stat()
    data = bytearray(path.read_bytes())
    before = sha256(data)
    data[-9] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(MalformedData, match=name) as caught:
        verify_prepared(prepared())
    if name != "card.json":
        assert isinstance(caught.value, AlteredData)
        for part in (str(path), before, sha256(data), "prepare the dataset again"):
            assert part in str(caught.value)
    assert not is_current("t", catalogue=pinned)
    prepare("t", catalogue=pinned, progress=False)
    verify_prepared(prepared())
    assert is_current("t", catalogue=pinned)


@pytest.mark.parametrize("name", PREPARED)
def test_a_missing_file_is_named(pinned, name):
    (prepared() / name).unlink()
    with pytest.raises(MalformedData, match=rf"{name}.*missing.*prepare the dataset again"):
        verify_prepared(prepared())
    assert not is_current("t", catalogue=pinned)


def test_the_card_does_not_depend_on_when_it_was_made(pinned):
    before = (prepared() / "card.json").read_bytes()
    for path in (*prepared().iterdir(), *raw_file().parent.iterdir()):
        path.unlink()
    prepare("t", catalogue=pinned, progress=False)
    assert (prepared() / "card.json").read_bytes() == before


def test_a_card_that_names_files_elsewhere_is_damaged(pinned, tmp_path):
    card = json.loads((prepared() / "card.json").read_text())
    card["arrays"]["../outside.npy"] = card["arrays"].pop("X_all.npy")
    (prepared() / "card.json").write_text(json.dumps(card))
    with pytest.raises(MalformedData, match="damaged"):
        verify_prepared(prepared())


def test_another_recipe_is_not_current_and_a_missing_raw_file_with_a_known_sum_is(pinned):
    raw_file().unlink()
    assert is_current("t", catalogue=pinned)
    other = catalogue_of(t=table_entry({"mirror": "table.csv"}, title="Another"))
    assert not is_current("t", catalogue=other)


def own_entry(*sources, **changes):
    """An entry whose file is the user's own."""
    changes = {"files": {"table.csv": {"sources": list(sources)}}, "supplied": "Ask"} | changes
    return catalogue_of(t=table_entry(**changes))


PLAIN = own_entry({"mirror": "table.csv"})
COMPRESSED = own_entry({"mirror": "table.csv.gz", "decode": ["gzip"]})
EITHER = own_entry({"mirror": "table.csv"}, {"mirror": "table.csv.gz", "decode": ["gzip"]})


def prepared_values(catalogue):
    prepare("t", catalogue=catalogue, progress=False)
    return sorted(np.load(prepared() / "X_all.npy")[:, 0].tolist())


@pytest.mark.parametrize(
    ("catalogue", "name", "pack"), [(PLAIN, "table.csv", bytes), (COMPRESSED, "table.csv.gz", gzip.compress)]
)
def test_an_edited_file_of_the_user_is_prepared_again(mirror, catalogue, name, pack):
    (mirror / name).write_bytes(pack(TABLE))
    assert 17 in prepared_values(catalogue)
    assert is_current("t", catalogue=catalogue)
    (mirror / name).write_bytes(pack(EDITED))
    assert not is_current("t", catalogue=catalogue)
    assert fetch("t", catalogue=catalogue, progress=False).files[0].sha256 == sha256(EDITED)
    assert not is_current("t", catalogue=catalogue), "fetched, and not yet prepared"
    assert 99 in prepared_values(catalogue)
    assert is_current("t", catalogue=catalogue)


def test_a_file_put_in_the_raw_folder_needs_no_mirror():
    raw_file().parent.mkdir(parents=True)
    raw_file().write_bytes(TABLE)
    prepared_values(PLAIN)
    assert is_current("t", catalogue=PLAIN)
    raw_file().write_bytes(EDITED)
    assert not is_current("t", catalogue=PLAIN)
    assert 99 in prepared_values(PLAIN)
    assert raw_file().read_bytes() == EDITED, "what the user put there is not replaced"
    raw_file().unlink()
    assert not is_current("t", catalogue=PLAIN)


def test_without_the_mirror_the_raw_file_counts(mirror):
    (mirror / "table.csv").write_bytes(TABLE)
    prepared_values(PLAIN)
    (mirror / "table.csv").unlink()
    assert is_current("t", catalogue=PLAIN)
    raw_file().unlink()
    assert not is_current("t", catalogue=PLAIN)
    (mirror / "table.csv").write_bytes(TABLE)
    assert is_current("t", catalogue=PLAIN), "the same bytes again"


def test_an_earlier_source_that_appears_is_taken(mirror):
    (mirror / "table.csv.gz").write_bytes(gzip.compress(TABLE))
    prepared_values(EITHER)
    (mirror / "table.csv").write_bytes(EDITED)
    assert not is_current("t", catalogue=EITHER)
    assert 99 in prepared_values(EITHER)
    assert is_current("t", catalogue=EITHER)


def test_an_edited_file_that_no_longer_decodes_is_an_error_each_time(mirror):
    (mirror / "table.csv.gz").write_bytes(gzip.compress(TABLE))
    prepared_values(COMPRESSED)
    (mirror / "table.csv.gz").write_bytes(gzip.compress(TABLE)[:-9])
    for _ in range(2):
        with pytest.warns(UserWarning, match="compressed"), pytest.raises(Exception, match="no source gave"):
            prepare("t", catalogue=COMPRESSED, progress=False)
        assert not is_current("t", catalogue=COMPRESSED)


def test_without_its_manifest_a_file_of_the_user_is_taken_anew(mirror):
    (mirror / "table.csv").write_bytes(TABLE)
    prepared_values(PLAIN)
    (raw_file().parent / "manifest.json").unlink()
    assert not is_current("t", catalogue=PLAIN)
    prepared_values(PLAIN)
    assert is_current("t", catalogue=PLAIN)


def write_recordings(mirror: Path, label: str):
    for name in ("a", "b"):
        (mirror / "words" / name).mkdir(parents=True, exist_ok=True)
        (mirror / "words" / name / "1.CSV").write_text(f"1,{label}\n2,{name}\n")


def test_an_edited_file_of_a_folder_is_noticed(mirror):
    catalogue = own_entry({"folder": "words", "suffixes": [".csv"]})
    write_recordings(mirror, "x")
    first = fetch("t", catalogue=catalogue, progress=False).files[0]
    os.utime(mirror / "words" / "a" / "1.CSV")
    assert fetch("t", catalogue=catalogue, progress=False).files[0] == first
    write_recordings(mirror, "y")
    second = fetch("t", catalogue=catalogue, progress=False).files[0]
    assert second.sha256 == sha256(raw_file().read_bytes()) != first.sha256
    (mirror / "words" / "b" / "1.CSV").rename(mirror / "words" / "b" / "2.CSV")
    third = fetch("t", catalogue=catalogue, progress=False).files[0]
    (mirror / "words" / os.fsdecode(b"\xff.csv")).write_text("1,x\n")
    fourth = fetch("t", catalogue=catalogue, progress=False).files[0]
    assert len({record.sha256 for record in (first, second, third, fourth)}) == 4
