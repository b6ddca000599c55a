"""Files are as they were or whole and new."""

import json
import os
import stat

import pytest

from eigenbench.atomic_files import (
    making_folder,
    remove_unfinished,
    replacing_entries,
    replacing_file,
    write_json,
)


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "r.json"
    write_json(path, {"old": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"new": float("nan")})
    assert json.loads(path.read_text()) == {"old": 1}
    assert names(tmp_path) == ["r.json"]


def test_nothing_is_in_its_place_before_the_block_ends(tmp_path):
    with replacing_file(tmp_path / "new" / "a") as temporary:
        temporary.write_text("1")
        assert not (tmp_path / "new" / "a").exists()
    assert names(tmp_path) == ["new", "new/a"]


@pytest.mark.parametrize("umask", [0o002, 0o077])
def test_written_files_have_the_permissions_of_the_umask(tmp_path, umask):
    """So that the second member of a group can replace them, and others read nothing that is private."""
    tmp_path.chmod(0o2775)
    before = os.umask(umask)
    try:
        write_json(tmp_path / "r.json", {})
        with replacing_entries(tmp_path) as new:
            (new / "a").write_text("1")
            (new / "b").mkdir()
            (new / "b" / "c").write_text("2")
        with making_folder(tmp_path / "d") as new:
            (new / "e").write_text("3")
    finally:
        os.umask(before)
    assert {mode(tmp_path / name) for name in ("r.json", "a", "b/c", "d/e")} == {0o666 & ~umask}
    assert {mode(tmp_path / name) for name in ("b", "d")} == {0o2777 & ~umask}


def test_entries_replace_those_of_the_same_name_and_no_others(tmp_path):
    for name in ("kept", "file", "folder/old", "becomes-a-folder"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("old")
    with replacing_entries(tmp_path) as new:
        for name in ("file", "folder/new", "becomes-a-folder/new"):
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text("new")
        assert (tmp_path / "file").read_text() == "old"
    folders = ["becomes-a-folder", "becomes-a-folder/new", "folder", "folder/new"]
    assert names(tmp_path) == sorted([*folders, "file", "kept"])
    assert (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "kept").read_text() == "old"


def test_a_failed_block_replaces_no_entry(tmp_path):
    (tmp_path / "file").write_text("old")

    def write_half():
        with replacing_entries(tmp_path) as new:
            (new / "file").write_text("new")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_half()
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("writer", [lambda folder: replacing_file(folder / "a"), replacing_entries])
def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path, writer):
    mine = tmp_path / ".notes.tmp"
    mine.write_text("not ours")
    if os.fork() == 0:
        with writer(tmp_path / "below"):
            os._exit(0)
    os.wait()
    assert len(list((tmp_path / "below").iterdir())) == 1
    remove_unfinished(tmp_path)
    assert names(tmp_path) == [".notes.tmp", "below"]
