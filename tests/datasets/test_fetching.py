"""Order of sources, checksums, repeated fetches, and what is left when a fetch can't end well."""

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from small_table import TABLE, catalogue_of, fetch_table, raw, sha256, table_entry

from eigenbench.datasets import (
    DatasetUnavailable,
    InsufficientSpace,
    Manifest,
    SourceWarning,
    StorageError,
    fetch,
    prepare,
)
from eigenbench.datasets.storage import raw_folder, resolve_data_dir

pytestmark = pytest.mark.workflow


def names():
    return sorted(path.name for path in raw().iterdir())


@pytest.fixture
def table_in_mirror(mirror):
    (mirror / "table.csv").write_bytes(TABLE)
    return {"mirror": "table.csv"}


def test_sources_are_tried_in_order(table_in_mirror, web):
    web.pages["/table.csv"] = (TABLE, len(TABLE))
    url = {"url": f"{web.url}/table.csv"}
    assert fetch_table(table_in_mirror, url).files[0].kind == "mirror"
    assert web.requested == []
    (raw() / "table.csv").unlink()
    assert fetch_table({"mirror": "absent.csv"}, url, table_in_mirror).files[0].kind == "url"


@pytest.mark.parametrize("there", [TABLE, TABLE[:-2] + b"q\n", TABLE + b"1,2,x\n", None])
def test_a_file_that_another_dataset_has_fetched_is_copied_if_it_is_intact(table_in_mirror, mirror, there):
    both = catalogue_of(t=table_entry(table_in_mirror), u=table_entry(table_in_mirror))
    first = fetch("u", catalogue=both, progress=False)
    other = raw_folder(resolve_data_dir(), "u") / "table.csv"
    other.unlink()
    if there is not None:
        other.write_bytes(there)
    if there == TABLE:
        (mirror / "table.csv").unlink()
    (found,), (before,) = fetch("t", catalogue=both, progress=False).files, first.files
    assert found == before.model_copy(update={"checked": found.checked})
    assert (raw() / "table.csv").read_bytes() == TABLE
    assert names() == ["manifest.json", "table.csv"]


def test_a_wrong_checksum_warns_and_the_next_source_is_used(mirror, web):
    (mirror / "table.csv").write_bytes(TABLE[:-3])
    web.pages["/table.csv"] = (TABLE, len(TABLE))
    with pytest.warns(SourceWarning) as caught:
        manifest = fetch_table({"mirror": "table.csv"}, {"url": f"{web.url}/table.csv"})
    message = str(caught[0].message)
    for part in ("t:", "table.csv", "mirror table.csv", sha256(TABLE), sha256(TABLE[:-3])):
        assert part in message
    assert manifest.files[0].kind == "url"


def test_the_sum_of_the_undecoded_bytes_is_checked_first(mirror):
    (mirror / "table.csv.gz").write_bytes(b"not even gzip")
    source = {"mirror": "table.csv.gz", "sha256": sha256(b"expected"), "decode": ["gzip"]}
    with pytest.warns(SourceWarning, match=sha256(b"not even gzip")), pytest.raises(DatasetUnavailable):
        fetch_table(source)


def test_all_reasons_and_all_remedies_are_listed(mirror):
    with pytest.raises(DatasetUnavailable) as caught:
        fetch_table({"mirror": "a.csv"}, {"mirror": "b.csv"})
    message = str(caught.value)
    assert message.index("a.csv") < message.index("b.csv")
    for part in ("'t'", "EIGENBENCH_MIRROR", "package index", str(raw() / "table.csv")):
        assert part in message
    assert names() == []


def test_a_second_fetch_changes_nothing_and_asks_no_source(table_in_mirror, mirror):
    first = fetch_table(table_in_mirror)
    before = (raw() / "manifest.json").stat().st_mtime_ns
    (mirror / "table.csv").unlink()
    assert fetch_table(table_in_mirror) == first
    assert (raw() / "manifest.json").stat().st_mtime_ns == before
    assert Manifest.model_validate_json((raw() / "manifest.json").read_bytes()) == first


@pytest.mark.parametrize("damaged", [TABLE[:-1], b"", TABLE.replace(b"1", b"2")])
def test_a_truncated_or_altered_file_is_replaced(table_in_mirror, damaged):
    fetch_table(table_in_mirror)
    (raw() / "table.csv").write_bytes(damaged)
    fetch_table(table_in_mirror)
    assert (raw() / "table.csv").read_bytes() == TABLE


def test_a_file_placed_by_hand_is_used():
    raw().mkdir(parents=True)
    (raw() / "table.csv").write_bytes(TABLE)
    (raw() / "manifest.json").write_text('{"dataset": "t", "fi')
    assert fetch_table({"mirror": "absent.csv"}).files[0].kind == "found"


def test_a_supplied_file_needs_no_sum_and_a_second_fetch_keeps_it(mirror):
    (mirror / "table.csv.gz").write_bytes(gzip.compress(TABLE))
    sources = [{"mirror": "table.csv.gz", "decode": ["gzip"]}]
    unsummed = {"files": {"table.csv": {"sources": sources}}, "supplied": "Ask at example.org"}
    first = fetch_table(**unsummed)
    assert (first.files[0].sha256, first.files[0].bytes) == (sha256(TABLE), len(TABLE))
    assert (raw() / "table.csv").read_bytes() == TABLE
    assert fetch_table(**unsummed) == first


def test_a_folder_that_cannot_be_written_says_so(table_in_mirror, tmp_path):
    (tmp_path / "file").write_text("in the way")
    entry = catalogue_of(t=table_entry(table_in_mirror))
    with pytest.raises(StorageError, match="EIGENBENCH_DATA"):
        fetch("t", data_dir=tmp_path / "file", catalogue=entry, progress=False)


def as_nobody(script, **environment):
    """Run some code as a user who may not write; return what it printed last."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become another user, by setpriv")

    def run(code, **options):
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    if run("import eigenbench.datasets").returncode != 0:
        pytest.skip("other users can't read this Python")
    ended = run(script, env=os.environ | environment)
    return (ended.stdout + ended.stderr).strip().splitlines()[-1]


def test_a_complete_folder_that_cannot_be_written_is_used():
    with tempfile.TemporaryDirectory() as top:  # whose parents everybody may read, unlike those of tmp_path
        data = Path(top) / "data"
        prepare("digits", data_dir=data, progress=False)
        for path in (data, *data.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        Path(top).chmod(0o755)
        script = (
            f"from eigenbench.datasets import fetch, load; fetch('digits', data_dir={str(data)!r});"
            f"print(load('digits', data_dir={str(data)!r}))"
        )
        assert as_nobody(script).startswith("Dataset('digits'")
        assert "EIGENBENCH_DATA" in as_nobody(script.replace("digits", "wdbc"))


@pytest.mark.parametrize("home", ["/proc/nothing", "/root"])
def test_a_home_that_cannot_be_written_is_one_sentence(home, monkeypatch):
    script = "from eigenbench.datasets import load; load('digits')"
    monkeypatch.delenv("EIGENBENCH_DATA")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    said = as_nobody(script, HOME=home)
    assert said.startswith("eigenbench.datasets.errors.StorageError")
    assert "EIGENBENCH_DATA" in said


def test_a_folder_with_a_part_that_cannot_be_read_is_refused():
    with tempfile.TemporaryDirectory() as top:
        closed = Path(top) / "words" / "closed"
        closed.mkdir(parents=True)
        (Path(top) / "words" / "1.csv").write_bytes(TABLE)
        closed.chmod(0)
        Path(top).chmod(0o755)
        script = (
            "from eigenbench.datasets.sources.local import FolderSource;"
            "FolderSource(folder='words', suffixes=('.csv',)).own_sum(None, None)"
        )
        assert as_nobody(script, EIGENBENCH_MIRROR=top).endswith(f"no permission to read {closed}")


def test_no_room_during_a_download_leaves_nothing_and_is_no_reason_to_try_elsewhere(web, largest_file):
    web.pages["/table.csv"] = (TABLE, len(TABLE))
    url = f"{web.url}/table.csv"
    largest_file(100)
    with pytest.raises(InsufficientSpace, match="free space"):
        fetch_table({"url": url}, {"url": url})
    largest_file(None)
    assert names() == []
    assert len(web.requested) == 1


def test_leftovers_of_killed_runs_are_removed_after_a_day(table_in_mirror):
    old, new = raw() / ".partial-old", raw() / ".partial-new"
    old.mkdir(parents=True)
    (old / "download").write_bytes(b"half")
    new.write_bytes(b"another run is writing this")
    os.utime(old, (1e9, 1e9))
    fetch_table(table_in_mirror)
    assert names() == [".partial-new", "manifest.json", "table.csv"]
