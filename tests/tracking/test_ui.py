from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from eigenbench.tracking import TrackingError, import_records
from eigenbench.tracking.ui import dashboard_url, open_ui


def test_without_a_store_it_says_what_to_run(tmp_path):
    with pytest.raises(TrackingError, match="Run snakemake first"):
        open_ui(f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert not (tmp_path / "mlflow.db").exists()


def test_a_running_server_is_only_linked_to(results, server, capsys):
    import_records([results.record()], results_dir=results.folder, tracking_uri=server.uri, progress=False)
    open_ui(server.uri)
    assert capsys.readouterr().out == f"tiny: {dashboard_url(server.uri, '1')}\n"


def test_it_serves_on_the_next_free_port_and_ends_whole(results, store_uri, request):
    import_records([results.record()], results_dir=results.folder, tracking_uri=store_uri, progress=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code = f"from eigenbench.tracking.ui import open_ui; open_ui({store_uri!r}, port={port})"
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        request.addfinalizer(process.terminate)
        assert process.stdout is not None
        link = process.stdout.readline().split()[1]
    base = link.partition("/#/")[0]
    assert base.rpartition(":")[0] == "http://127.0.0.1"
    assert int(base.rpartition(":")[2]) > port
    with urllib.request.urlopen(base) as page:
        assert b"MLflow" in page.read()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(base, timeout=5)
