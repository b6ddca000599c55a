"""A catalogue of the user's own beside suites, with data in the same folder."""

import numpy as np
import pytest

from eigenbench.datasets import CatalogueError, MalformedData, load_catalogue, open_prepared
from eigenbench.datasets.catalogue import load_with_own, own_catalogue

ENTRY = {
    "title": "Own",
    "format": {"reader": "arrays"},
    "parts": {"all": ["own.npz"]},
    "split": {"kind": "folds", "n_folds": 2},
    "expect": {"rows": {"all": 4}, "features": 2, "classes": 2},
    "files": {"own.npz": {"sources": [{"path": "own.npz"}]}},
}
ROWS = np.arange(8.0).reshape(4, 2)


@pytest.fixture
def written(own):
    """Write a catalogue and its data into a folder of suites."""

    def write(X=ROWS, y=("b", "a", "a", "b"), name="own", **changes):
        np.savez(own.folder / "own.npz", X=X, y=np.array(y))
        return own.written(**{name: ENTRY | changes})

    return write


def test_data_beside_the_catalogue_need_no_sum_licence_or_citation(written):
    own = written()
    card = own.prepare()
    assert card.licence == "not stated"
    assert card.classes == ("a", "b")
    opened = open_prepared(own.prepared, split_seed=1)
    assert (opened.X_train.shape, opened.X_test.shape) == ((2, 2), (2, 2))


def test_fractions_are_a_regression_and_no_classes(written):
    fractions = [0.5, 1, 2, 0.25]
    with pytest.raises(MalformedData, match="fractions, which are no classes"):
        written(y=fractions).prepare()
    own = written(y=fractions, target="regression", expect=ENTRY["expect"] | {"classes": 1})
    card = own.prepare()
    assert (card.target, card.classes) == ("regression", ())
    opened = open_prepared(own.prepared)
    assert sorted([*opened.y_train, *opened.y_test]) == [0.25, 0.5, 1, 2]


def test_a_changed_file_is_noticed(written):
    own = written()
    own.prepare()
    assert own.current()
    written(X=np.ones((4, 2)))
    assert not own.current()
    own.prepare()
    assert (open_prepared(own.prepared).X_train == 1).all()


def test_changed_steps_of_decoding_are_noticed(own):
    (own.folder / "own.csv").write_text("1,2,a\n3,4,b\n5,6,a\n7,8,b\n")
    table = {"format": {"reader": "table"}, "parts": {"all": ["own.csv"]}}
    for steps, n_rows in (([], 4), (["drop_first_line"], 3), ([], 4)):
        files = {"own.csv": {"sources": [{"path": "own.csv", "decode": steps}]}}
        expect = ENTRY["expect"] | {"rows": {"all": 4}, "exact_rows": False}
        own.written(own=ENTRY | table | {"files": files, "expect": expect})
        assert not own.current()
        own.prepare()
        assert own.current()
        opened = open_prepared(own.prepared)
        assert len(opened.y_train) + len(opened.y_test) == n_rows


def test_it_stands_beside_the_catalogue_of_eigenbench_and_goes_before_it(tmp_path, written):
    assert own_catalogue(tmp_path) is None
    assert load_with_own(tmp_path) is load_catalogue()
    catalogue = written(name="digits").catalogue
    assert catalogue.entry("digits").title == "Own"
    assert catalogue.entry("mnist") == load_catalogue().entry("mnist")


@pytest.mark.parametrize("path", ["../own.npz", "/etc/passwd", ""])
def test_a_path_stays_in_the_folder(written, path):
    with pytest.raises(CatalogueError, match="relative path"):
        written(files={"own.npz": {"sources": [{"path": path}]}})


def test_missing_values_are_an_error_unless_they_are_expected(written):
    X = np.array([[np.nan, 1]] * 4)
    with pytest.raises(MalformedData, match="NaN"):
        written(X).prepare()
    with pytest.raises(MalformedData, match="row 1: an infinite value as float32"):
        written(ROWS * [[1], [1e39], [1], [1]], missing=True).prepare()
    written(X, missing=True).prepare()


@pytest.mark.parametrize(
    "split",
    [
        *({"kind": "first", "n_train": 4}, {"kind": "folds", "n_folds": 5}),
        {"kind": "random", "test_fraction": 0.99},
    ],
)
def test_a_split_with_an_empty_part_is_refused(written, split):
    with pytest.raises(MalformedData, match="4 rows leave a part of the split"):
        written(split=split).prepare()


def test_a_grouped_split_needs_groups(written):
    with pytest.raises(MalformedData, match="no groups"):
        written(split={"kind": "folds", "n_folds": 2, "grouped": True}).prepare()


def test_a_wrong_file_is_named_by_its_place_with_what_to_correct(written):
    own = written(y=("a", "a", "a", "a"), X=np.full((4, 2), np.nan))
    message = f"{own.folder}/own.npz, all, row 0: a NaN .*; correct the file, or its 'expect' in {own.folder}"
    with pytest.raises(MalformedData, match=message):
        own.prepare()
    with pytest.raises(MalformedData, match=r"own, labels: 1 classes.*; correct the file"):
        written(y=("a", "a", "a", "a")).prepare()
