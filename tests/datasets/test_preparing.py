"""The prepared form: its arrays and card, what is refused, and what interruptions leave."""

import json
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy.sparse import csr_array
from small_table import TABLE, prepared, raw, sha256, table_entry

from eigenbench.datasets import Card, InsufficientSpace, MalformedData, open_prepared, preparing

OFFICIAL = {"split": {"kind": "official"}, "parts": {"train": ["train"], "test": ["test"]}}


def test_the_card_describes_data_files_and_arrays(make):
    card = make()
    assert (card.n_train, card.n_test, card.n_features, card.n_classes) == (24, 6, 2, 3)
    assert card.classes == ("x", "y", "z")
    assert card.sources[0].sha256 == sha256(TABLE)
    assert (card.sources[0].kind, card.sources[0].source) == ("mirror", "table.csv")
    for name, record in card.arrays.items():
        data = (prepared() / name).read_bytes()
        assert (record.sha256, record.bytes) == (sha256(data), len(data))
        assert record.shape == np.load(prepared() / name).shape
    assert Card.model_validate(json.loads((prepared() / "card.json").read_text())) == card


def test_preparing_again_changes_nothing_and_needs_no_raw_file(make):
    card = make()
    before = {path.name: path.stat().st_mtime_ns for path in prepared().iterdir()}
    (raw() / "table.csv").unlink()
    assert make() == card
    assert {path.name: path.stat().st_mtime_ns for path in prepared().iterdir()} == before
    assert not (raw() / "table.csv").exists()


def test_refused_files_leave_the_finished_folder(make):
    card = make()
    with pytest.raises(MalformedData, match="3 classes"):
        make(expect={"rows": {"all": 30}, "features": 2, "classes": 4})
    assert open_prepared(prepared()).card == card


def test_an_official_split_shares_one_class_order(make):
    expect = {"rows": {"train": 3, "test": 2}, "features": 1, "classes": 4}
    card = make({"train": b"1,s10\n2,s2\n5,s11\n", "test": b"3,s1\n4,s10\n"}, expect=expect, **OFFICIAL)
    assert card.classes == ("s1", "s2", "s10", "s11")
    assert np.load(prepared() / "y_train.npy").tolist() == [2, 1, 3]
    assert np.load(prepared() / "y_test.npy").tolist() == [0, 2]


def test_a_sparse_multilabel_set(make):
    text = (
        b"@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute L1 {0,1}\n@attribute L2 {0,1}\n"
    )
    text += b"@data\n{0 2.5,2 1}\n{}\n{1 -1,2 1,3 1}\n"
    make(
        {"t.arff": text},
        target="multilabel",
        sparse=True,
        format={"reader": "arff"},
        parts={"all": ["t.arff"]},
        split={"kind": "first", "n_train": 2},
        expect={"rows": {"all": 3}, "features": 2, "classes": 2},
    )
    data = open_prepared(prepared())
    assert isinstance(data.X_train, csr_array)
    np.testing.assert_array_equal(data.X_train.toarray(), [[2.5, 0], [0, 0]])
    np.testing.assert_array_equal(data.X_test.toarray(), [[0, -1]])
    np.testing.assert_array_equal(data.y_train.toarray(), [[1, 0], [0, 0]])
    np.testing.assert_array_equal(data.y_test.toarray(), [[1, 1]])
    assert (data.X_train.dtype, data.y_train.dtype) == (np.float32, np.uint8)
    assert {matrix.indices.dtype for matrix in (data.X_train, data.y_train)} == {np.dtype(np.int32)}
    assert (data.target, data.classes) == ("multilabel", ["L1", "L2"])


HMC = b"@attribute a numeric\n@attribute class hierarchical root/A,root/B,A/C,B/C\n@data\n1,C\n2,A@B\n"


def make_hmc(make, test=HMC):
    return make(
        {"train": HMC, "test": test},
        target="multilabel",
        format={"reader": "hmc"},
        **OFFICIAL,
        expect={"rows": {"train": 2, "test": 2}, "features": 1, "classes": 3},
    )


def test_a_graph_of_the_labels_is_kept(make):
    assert "label_edges.npy" in make_hmc(make).arrays
    data = open_prepared(prepared())
    assert data.label_edges.tolist() == [[0, 3], [1, 3], [2, 0], [2, 1]]
    assert data.classes == ["A", "B", "C"]
    np.testing.assert_array_equal(data.y_train.toarray(), [[0, 0, 1], [1, 1, 0]])


def test_parts_of_different_graphs_are_refused(make):
    with pytest.raises(MalformedData, match="different hierarchies"):
        make_hmc(make, HMC.replace(b"B/C", b"A/B"))


def test_parts_that_name_other_labels_are_refused(make):
    text = "@attribute a numeric\n@attribute {} {{0,1}}\n@attribute {} {{0,1}}\n@data\n{{0 1,1 1}}\n"
    with pytest.raises(MalformedData, match="the parts name different labels; name the same"):
        make(
            {"train": text.format("L1", "L2").encode(), "test": text.format("L2", "L1").encode()},
            target="multilabel",
            sparse=True,
            format={"reader": "arff"},
            **OFFICIAL,
            expect={"rows": {"train": 1, "test": 1}, "features": 1, "classes": 2},
        )


NOT_FINITE = r"table\.csv, all, row 17: a NaN or infinite value"
NO_BYTE = "not whole numbers from 0 to 255"


@pytest.mark.parametrize(
    ("values", "changes", "message"),
    [
        ([b"nan", b"inf", b"-inf", b"1e999"], {}, NOT_FINITE),
        ([b"0.5", b"256", b"-1"], {"dtype": "uint8", "scale": 1.0}, NO_BYTE),
    ],
)
def test_values_that_the_type_of_the_rows_does_not_hold_are_refused(make, values, changes, message):
    for value in values:
        table = TABLE.replace(b"\n17,", b"\n" + value + b",")
        with pytest.raises(MalformedData, match=message):
            make({"table.csv": table}, **changes)
    assert not prepared().exists()


def test_an_infinite_value_in_sparse_rows_is_named_with_its_row(make):
    expect = {"rows": {"train": 3, "test": 1}, "features": 2, "classes": 2}
    files = {"train": b"1 1:1\n2\n1 1:1 2:1e60\n", "test": b"2 2:1\n"}
    with pytest.raises(MalformedData, match="train, row 2: a NaN or infinite value"):
        make(files, format={"reader": "svmlight"}, expect=expect, sparse=True, **OFFICIAL)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": {"all": 31}}, "30 x 2 features and 30 labels, the catalogue says 31 x 2"),
        ({"features": 3}, "the catalogue says 30 x 3"),
        ({"classes": 4}, "3 classes, the catalogue says 4"),
    ],
)
def test_other_counts_than_the_catalogue_are_refused(make, changes, message):
    expect = {"rows": {"all": 30}, "features": 2, "classes": 3} | changes
    with pytest.raises(MalformedData, match=message):
        make(expect=expect)


def test_no_room_leaves_nothing_half_written(make, largest_file):
    table = b"".join(b"%d,1.5,%s\n" % (i % 10, b"ab"[i % 2 : i % 2 + 1]) for i in range(2000))
    expect = {"rows": {"all": 2000}, "features": 2, "classes": 2}
    make({"table.csv": table}, expect=expect)
    for path in prepared().iterdir():
        path.unlink()
    largest_file(15_000)
    with pytest.raises(InsufficientSpace, match="free space"):
        make({"table.csv": table}, expect=expect)
    largest_file(None)
    assert list(prepared().iterdir()) == []
    assert make({"table.csv": table}, expect=expect).n_train == 1600


def test_what_another_process_has_prepared_meanwhile_is_kept(make, monkeypatch):
    fetch, written = preparing.fetch, []

    def fetch_slowly(*arguments, **options):
        monkeypatch.setattr(preparing, "fetch", fetch)
        make()
        written.append((prepared() / "card.json").stat().st_mtime_ns)
        return fetch(*arguments, **options)

    monkeypatch.setattr(preparing, "fetch", fetch_slowly)
    make()
    assert written == [(prepared() / "card.json").stat().st_mtime_ns]


@pytest.mark.workflow
@pytest.mark.parametrize("rename", range(1, 7))
def test_kill_before_any_rename_leaves_nothing_that_looks_complete(make, mirror, tmp_path, rename):
    """Six files are renamed into place: raw file, manifest, two arrays, the card and its sum."""
    (mirror / "table.csv").write_bytes(TABLE)
    entry = table_entry({"mirror": "table.csv"})
    script = tmp_path / "prepare.py"
    script.write_text(
        textwrap.dedent(f"""
            import os, signal
            from pathlib import Path
            from eigenbench.datasets import prepare
            from eigenbench.datasets.catalogue import Catalogue

            left, replace = {rename}, Path.replace

            def replace_or_die(self, target):
                global left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return replace(self, target)

            Path.replace = replace_or_die
            prepare("t", catalogue=Catalogue.model_validate({{"path": "-", "datasets": {{"t": {entry!r}}}}}))
        """)
    )
    result = subprocess.run([sys.executable, str(script)], stderr=subprocess.DEVNULL, check=False)
    assert result.returncode == -signal.SIGKILL
    with pytest.raises(MalformedData, match=r"card\.json"):
        open_prepared(prepared())
    killed = make()
    assert killed.arrays == make().arrays
    assert open_prepared(prepared()).X_train.shape == (24, 2)
