"""Small sources of every kind: a mirror, a wheel on a local index, a web server, a user's catalogue."""

import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))  # where the tests find small_table

from small_table import TABLE, catalogue_of, sha256, table_entry

from eigenbench.datasets import Card, is_current, prepare
from eigenbench.datasets.catalogue import load_with_own


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """No mirror and no data folder from outside the test."""
    monkeypatch.delenv("EIGENBENCH_MIRROR", raising=False)
    monkeypatch.setenv("EIGENBENCH_DATA", str(tmp_path / "data"))


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    folder = tmp_path / "mirror"
    folder.mkdir()
    monkeypatch.setenv("EIGENBENCH_MIRROR", str(folder))
    return folder


@pytest.fixture
def make(mirror):
    """Prepare a dataset whose files, by name, are in the mirror; the small table where none are given."""

    def run(files: dict[str, bytes] | None = None, **changes) -> Card:
        files = {"table.csv": TABLE} if files is None else files
        for name, data in files.items():
            if not (mirror / name).exists() or (mirror / name).read_bytes() != data:
                (mirror / name).write_bytes(data)
        changes["files"] = {
            name: {"sha256": sha256(data), "bytes": len(data), "sources": [{"mirror": name}]}
            for name, data in files.items()
        }
        return prepare("t", catalogue=catalogue_of(t=table_entry(**changes)), progress=False)

    return run


class Own:
    """A catalogue of the user's own in a folder, of a dataset of the name ``own`` that is beside it."""

    def __init__(self, folder):
        self.folder, self.data = folder, folder / "data"
        self.prepared = self.data / "prepared" / "own"

    def written(self, **entries):
        (self.folder / "datasets.yaml").write_text(yaml.safe_dump({"datasets": entries}))
        self.catalogue = load_with_own(self.folder)
        return self

    def prepare(self):
        return prepare("own", data_dir=self.data, catalogue=self.catalogue, progress=False)

    def current(self):
        return is_current("own", self.data, self.catalogue)


@pytest.fixture
def own(tmp_path):
    return Own(tmp_path)


@pytest.fixture
def package_index(monkeypatch, tmp_path):
    """A folder that is pip's only index; call it with the members of a wheel to add one."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))

    def add(members: dict[str, bytes], tag: str = "py3-none-any"):
        name, version = "tinydata", "1.0"
        info = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as wheel:
            for member, data in members.items():
                wheel.writestr(member, data)
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
            wheel.writestr(f"{info}/RECORD", "")

    return add


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requested.append(self.path)
        if self.path not in self.server.pages:
            self.send_error(404)
            return
        body, announced = self.server.pages[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(announced))
        self.end_headers()
        self.wfile.write(body)
        if announced > len(body):
            self.wfile.flush()
            self.server.release.wait(timeout=20)

    def log_message(self, *_):
        pass


@pytest.fixture
def web():
    """A server; ``pages[path]`` is a body and its announced length, and a shorter body stalls."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.pages, server.requested = {}, []
    server.release = threading.Event()
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()
