"""A suite whose files an S3 server keeps: Snakemake's storage plugin, and moto's server beside the test."""

import hashlib
import json
import shutil
import socket
import subprocess
import sys
import time

import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

BUCKET, FOLDER = "bench", "runs"


@pytest.fixture
def endpoint(tmp_path, monkeypatch):
    """The address of a server with an empty bucket."""
    pytest.importorskip("snakemake_storage_plugin_s3", reason="pip install 'eigenbench[s3]'")
    pytest.importorskip("moto.server", reason="pip install 'moto[server]'")
    for name in ("SNAKEMAKE_STORAGE_S3_ACCESS_KEY", "SNAKEMAKE_STORAGE_S3_SECRET_KEY"):
        monkeypatch.setenv(name, "test")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-p", str(port)], stderr=log, stdout=log
        )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 240
        while True:
            try:
                _bucket(address).create()
                break
            except Exception:
                assert time.monotonic() < deadline, (tmp_path / "server.log").read_text()
                time.sleep(0.5)
        yield address
    finally:
        server.terminate()
        server.wait()


def _bucket(address):
    import boto3

    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    s3 = boto3.resource("s3", endpoint_url=address, region_name="us-east-1", **keys)
    return s3.Bucket(BUCKET)


def test_data_records_and_models_are_objects_and_another_folder_goes_on_from_them(
    tmp_path, endpoint, make_workflow
):
    storage = [f"--default-storage-prefix=s3://{BUCKET}/{FOLDER}", f"--storage-s3-endpoint-url={endpoint}"]
    first = make_workflow(tmp_path / "first", "single", "s3")
    first.run(*storage, timeout=1800)
    objects = {
        one.key.removeprefix(f"{FOLDER}/"): one.get()["Body"].read()
        for one in _bucket(endpoint).objects.all()
    }
    for name in first.planned_records():
        record = json.loads(objects[f"results/{name}"])
        assert record["status"] == "ok"
        model = objects[f"results/{record['model']['path']}"]
        assert hashlib.sha256(model).hexdigest() == record["model"]["sha256"]
    assert {"data/prepared/digits.json", "data/prepared/digits/card.json", "reports/index.html"} <= set(
        objects
    )
    assert not first.results.exists()

    shutil.rmtree(first.folder)
    second = make_workflow(tmp_path / "second", "single", "s3")
    assert "Nothing to be done" in second.run(*storage, "--dry-run", timeout=1800)
