from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from eigenbench.tracking import TrackingError, import_records, ui
from eigenbench.tracking.ui import open_ui, table_url


def test_without_a_store_it_says_what_to_run(tmp_path):
    with pytest.raises(TrackingError, match="Run snakemake first"):
        open_ui(f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert not (tmp_path / "mlflow.db").exists()


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")


@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "http://127.0.0.1"), pytest.param("::1", "http://[::1]", marks=needs_ipv6)],
)
def test_it_serves_on_the_next_free_port_and_ends_whole(results, store_uri, request, capsys, host, address):
    """While it runs, the dashboard of its own address is that server, which is only linked to."""
    path = results.record(model=None)
    import_records([path], results_dir=results.folder, tracking_uri=store_uri, progress=False)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as taken:
        taken.bind((host, 0))
        taken.listen()
        port = taken.getsockname()[1]
        code = f"from eigenbench.tracking.ui import open_ui; open_ui({store_uri!r}, {host!r}, {port})"
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        request.addfinalizer(process.terminate)
        assert process.stdout is not None
        link = process.stdout.readline().split()[1]
    base = link.partition("/#/")[0]
    assert base.rpartition(":")[0] == address
    assert int(base.rpartition(":")[2]) > port
    with urllib.request.urlopen(base) as page:
        assert b"MLflow" in page.read()
    open_ui(base)
    methods = table_url(base, "1", "tags.kind = 'summary'", "metrics.`rank`")
    assert capsys.readouterr().out.splitlines() == [f"tiny: {methods}"]
    process.send_signal(signal.SIGTERM)
    text = process.communicate(timeout=30)[1]
    assert process.returncode == 0
    assert "warning" not in text
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(base, timeout=5)


def test_a_host_that_does_not_exist_is_named(results, store_uri):
    with pytest.raises(TrackingError, match=r"--host a\.\.b: no address"):
        open_ui(store_uri, host="a..b")


@pytest.mark.parametrize("host", ["0.0.0.0", pytest.param("::", marks=needs_ipv6)])
def test_an_address_that_others_reach_is_warned_of(store_uri, host, monkeypatch, capsys):
    """The server itself is replaced by a program that ends at once: it is not what is tested here."""
    monkeypatch.setattr(ui.sys, "executable", "/bin/false")
    with pytest.raises(TrackingError, match="ended with status 1"):
        open_ui(store_uri, host=host)
    [warning] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning")]
    assert f"listens on {host} and asks for no password" in warning
    assert "can read and change the runs" in warning
