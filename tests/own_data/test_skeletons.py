"""`eigenbench new`: what it writes works, and nothing that is there is lost."""

import subprocess
import sys

import pytest

from eigenbench.datasets.catalogue import load_with_own
from eigenbench.datasets.errors import DatasetError
from eigenbench.own_data.skeletons import write_skeleton


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.workflow
def test_the_tests_of_all_skeletons_pass(tmp_path):
    for kind, name in [("method", "TwoAxes"), ("dataset", "rows"), ("suite", "trial"), ("protocol", "share")]:
        assert all(path.is_file() for path in write_skeleton(kind, name, tmp_path))
    assert (tmp_path / "two_axes.py").is_file()
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("kind", ["method", "dataset", "suite", "protocol"])
def test_nothing_is_written_over(tmp_path, kind):
    write_skeleton(kind, "mine", tmp_path)
    before = contents(tmp_path)
    with pytest.raises(DatasetError, match="is there already: choose another name"):
        write_skeleton(kind, "mine", tmp_path)
    (tmp_path / "test_mine.py").unlink()
    with pytest.raises(DatasetError, match="already: choose another name"):
        write_skeleton(kind, "mine", tmp_path)
    assert contents(tmp_path) == {name: text for name, text in before.items() if name != "test_mine.py"}


def test_datasets_are_added_to_a_catalogue(tmp_path):
    write_skeleton("dataset", "one", tmp_path)
    first = (tmp_path / "datasets.yaml").read_text()
    write_skeleton("dataset", "two", tmp_path)
    assert (tmp_path / "datasets.yaml").read_text().startswith(first)
    assert {"one", "two", "digits"} <= set(load_with_own(tmp_path).datasets)


@pytest.mark.parametrize(
    ("text", "words"), [("datasets: {}\n", "add by hand"), ("dataset:\n  a: 1\n", "repair it first")]
)
def test_a_catalogue_that_cannot_be_extended_stays(tmp_path, text, words):
    (tmp_path / "datasets.yaml").write_text(text)
    with pytest.raises(DatasetError, match=words):
        write_skeleton("dataset", "two", tmp_path)
    assert contents(tmp_path) == {"datasets.yaml": text.encode()}


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("method", "json", "a module 'json' is installed"),
        ("protocol", "numpy", "a module 'numpy' is installed"),
        ("method", "two words", "is no name"),
        ("method", "../up", "is no name"),
        ("dataset", "Rows", "is no name"),
        ("protocol", "class", "is no name"),
        ("suite", "paper", "has a meaning of its own"),
        ("suite", "datasets", "has a meaning of its own"),
        ("suite", "a" * 41, "is no name"),
    ],
)
def test_bad_names_are_refused(tmp_path, kind, name, words):
    with pytest.raises(DatasetError, match=words):
        write_skeleton(kind, name, tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
