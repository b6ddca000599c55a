"""Members of archives can't reach outside, be links, or blow up."""

import errno
import io
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from damage import damaged, gives_or_complains
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.datasets import MalformedData
from eigenbench.datasets.archives import damage_errors, pack_tar, tar_members, zip_members

OUTSIDE = ["", "/etc/passwd", "../evil", "a/../../evil", "..", "C:/evil", "a\\..\\evil"]


def tar_of(*infos: tarfile.TarInfo) -> io.BytesIO:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for info in infos:
            tar.addfile(info, io.BytesIO(b"x" * info.size))
    stream.seek(0)
    return stream


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_outside_are_refused(name, tmp_path):
    with pytest.raises(MalformedData, match="points outside"):
        list(tar_members("a.tar", tar_of(tarfile.TarInfo(name)), limit=10))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), b"x")
    with pytest.raises(MalformedData, match="points outside"):
        list(zip_members(tmp_path / "a.zip", "*", limit=10))


def test_a_tar_of_a_whole_folder_begins_with_the_folder_itself():
    folder, file = tarfile.TarInfo("."), tarfile.TarInfo("./a")
    folder.type, file.size = tarfile.DIRTYPE, 1
    assert list(tar_members("a.tar", tar_of(folder, file), limit=10)) == [("./a", b"x")]


def test_a_full_disk_is_no_damaged_file():
    with pytest.raises(OSError, match="No space"), damage_errors("a.gz", "x"):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(MalformedData, match="x: Invalid"), damage_errors("a.gz", "x"):
        raise OSError("Invalid data stream")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(kind):
    info = tarfile.TarInfo("member")
    info.type, info.linkname = kind, "target"
    with pytest.raises(MalformedData, match="neither a file nor a folder"):
        list(tar_members("a.tar", tar_of(info), limit=10))


def test_sizes_are_bounded(tmp_path):
    info = tarfile.TarInfo("big")
    info.size = 1000
    with pytest.raises(MalformedData, match="999 bytes"):
        list(tar_members("a.tar", tar_of(info), limit=999))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big", b"0" * 1000)
    with pytest.raises(MalformedData, match="999 bytes"):
        list(zip_members(tmp_path / "a.zip", "*", limit=999))


@pytest.mark.parametrize(("size", "count", "limit"), [(8 << 20, 1, 1000), (1, 2000, 1 << 20)])
def test_headers_are_bounded(size, count, limit):
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, size
    record = info.tobuf(tarfile.GNU_FORMAT) + b"a" * size + bytes(-size % 512)
    end = tarfile.TarInfo("x").tobuf() + bytes(1024)
    with pytest.raises(MalformedData, match="tar headers"):
        list(tar_members("a.tar", io.BytesIO(record * count + end), limit=limit))


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=8), st.binary(max_size=600), min_size=1, max_size=5)
)
def test_packing_round_trips_and_depends_on_names_and_bytes_only(members):
    packed = pack_tar((f"root/{name}", data) for name, data in members.items())
    shuffled = pack_tar((f"elsewhere/{name}", members[name]) for name in sorted(members, reverse=True))
    assert packed == shuffled
    assert dict(tar_members("a.tar", io.BytesIO(packed), limit=10_000)) == members


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
        members = gives_or_complains(lambda: list(zip_members(path, "folder/*.csv", 20_000)))
        assert sum(len(content) for _, content in members or []) <= 20_000
        assert [found.name for found in Path(folder).rglob("*")] == ["a.zip"], "nothing is unpacked"
