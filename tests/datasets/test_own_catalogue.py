"""A catalogue of the user's own beside suites, with data in the same folder."""

import numpy as np
import pytest
import yaml

from eigenbench.datasets import (
    CatalogueError,
    MalformedData,
    is_current,
    load_catalogue,
    open_prepared,
    prepare,
)
from eigenbench.datasets.catalogue import load_with_own, own_catalogue

ENTRY = {
    "title": "Own",
    "format": {"reader": "arrays"},
    "parts": {"all": ["own.npz"]},
    "split": {"kind": "folds", "n_folds": 2},
    "expect": {"rows": {"all": 4}, "features": 2, "classes": 2},
    "files": {"own.npz": {"sources": [{"path": "own.npz"}]}},
}


def written(folder, name="own", **changes):
    """Write a catalogue and its data into a folder of suites."""
    np.savez(folder / "own.npz", X=np.arange(8.0).reshape(4, 2), y=np.array(["b", "a", "a", "b"]))
    (folder / "datasets.yaml").write_text(yaml.safe_dump({"datasets": {name: ENTRY | changes}}))
    return load_with_own(folder)


def test_data_beside_the_catalogue_need_no_sum_licence_or_citation(tmp_path):
    catalogue = written(tmp_path)
    card = prepare("own", data_dir=tmp_path / "data", catalogue=catalogue, progress=False)
    assert card.licence == "not stated"
    assert card.classes == ("a", "b")
    opened = open_prepared(tmp_path / "data" / "prepared" / "own", split_seed=1)
    assert (opened.X_train.shape, opened.X_test.shape) == ((2, 2), (2, 2))


def test_fractions_are_a_regression_and_no_classes(tmp_path):
    catalogue = written(tmp_path)
    np.savez(tmp_path / "own.npz", X=np.eye(4, 2), y=np.array([0.5, 1, 2, 0.25]))
    with pytest.raises(MalformedData, match="fractions, which are no classes"):
        prepare("own", data_dir=tmp_path / "data", catalogue=catalogue, progress=False)
    expect = {"rows": {"all": 4}, "features": 2, "classes": 1}
    (tmp_path / "datasets.yaml").write_text(
        yaml.safe_dump({"datasets": {"own": ENTRY | {"target": "regression", "expect": expect}}})
    )
    catalogue = load_with_own(tmp_path)
    card = prepare("own", data_dir=tmp_path / "data", catalogue=catalogue, progress=False)
    assert (card.target, card.classes) == ("regression", ())
    opened = open_prepared(tmp_path / "data" / "prepared" / "own")
    assert sorted([*opened.y_train, *opened.y_test]) == [0.25, 0.5, 1, 2]


def test_a_changed_file_is_noticed(tmp_path):
    catalogue = written(tmp_path)
    prepare("own", data_dir=tmp_path / "data", catalogue=catalogue, progress=False)
    assert is_current("own", tmp_path / "data", catalogue)
    np.savez(tmp_path / "own.npz", X=np.ones((4, 2)), y=np.array(["b", "a", "a", "b"]))
    assert not is_current("own", tmp_path / "data", catalogue)
    prepare("own", data_dir=tmp_path / "data", catalogue=catalogue, progress=False)
    assert (open_prepared(tmp_path / "data" / "prepared" / "own").X_train == 1).all()


def test_it_stands_beside_the_catalogue_of_eigenbench_and_goes_before_it(tmp_path):
    assert own_catalogue(tmp_path) is None
    assert load_with_own(tmp_path) is load_catalogue()
    catalogue = written(tmp_path, name="digits")
    assert catalogue.entry("digits").title == "Own"
    assert catalogue.entry("mnist") == load_catalogue().entry("mnist")


@pytest.mark.parametrize("path", ["../own.npz", "/etc/passwd", ""])
def test_a_path_stays_in_the_folder(tmp_path, path):
    with pytest.raises(CatalogueError, match="relative path"):
        written(tmp_path, files={"own.npz": {"sources": [{"path": path}]}})


def test_missing_values_are_an_error_unless_they_are_expected(tmp_path):
    for missing in (False, True):
        catalogue = written(tmp_path, missing=missing)
        np.savez(tmp_path / "own.npz", X=np.array([[np.nan, 1]] * 4), y=np.array([0, 1, 0, 1]))
        if missing:
            prepare("own", data_dir=tmp_path / "data", catalogue=catalogue, progress=False)
        else:
            with pytest.raises(MalformedData, match="NaN"):
                prepare("own", data_dir=tmp_path / "data", catalogue=catalogue, progress=False)


def test_a_grouped_split_needs_groups(tmp_path):
    catalogue = written(tmp_path, split={"kind": "folds", "n_folds": 2, "grouped": True})
    with pytest.raises(MalformedData, match="no groups"):
        prepare("own", data_dir=tmp_path / "data", catalogue=catalogue, progress=False)
