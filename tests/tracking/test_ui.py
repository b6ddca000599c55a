import contextlib
import ipaddress
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from mlflow import MlflowClient
from typer.testing import CliRunner

from eigenbench.cli import app
from eigenbench.tracking import ui
from eigenbench.tracking.addresses import TrackingError, run_link, table_page
from eigenbench.tracking.ui import open_ui


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


@pytest.fixture
def opened(request):
    """Return a function that opens the dashboard in a process of its own, and gives the link it prints."""

    def start(*arguments):
        code = f"from eigenbench.tracking.ui import open_ui; open_ui(*{arguments!r})"
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        request.addfinalizer(process.terminate)
        return process, process.stdout.readline().rpartition(" ")[2].strip()

    return start


def link_local():
    """Return an address that is valid on one interface only, with its name; None where there is none."""
    table = Path("/proc/net/if_inet6")
    for line in table.read_text().splitlines() if table.exists() else ():
        digits, *_, scope, _, name = line.split()
        if scope == "20":
            return f"{ipaddress.IPv6Address(int(digits, 16))}%{name}"
    return None


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")


@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.parametrize(
    ("host", "address", "end"),
    [
        ("127.0.0.1", "http://127.0.0.1", signal.SIGTERM),
        ("127.0.0.1", "http://127.0.0.1", signal.SIGHUP),
        ("127.0.0.1", "http://127.0.0.1", signal.SIGKILL),
        pytest.param("::1", "http://[::1]", signal.SIGTERM, marks=needs_ipv6),
    ],
)
def test_it_serves_on_the_next_free_port_and_ends_whole(
    results, store_uri, opened, capsys, host, address, end
):
    """While it runs, the dashboard of its own address is that server, which is only linked to."""
    path = results.record(model=None)
    results.bring([path], store_uri)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as taken:
        taken.bind((host, 0))
        taken.listen()
        port = taken.getsockname()[1]
        process, link = opened(store_uri, host, port)
    base = link.partition("/#/")[0]
    assert base.rpartition(":")[0] == address
    assert int(base.rpartition(":")[2]) > port
    with urllib.request.urlopen(base) as page:
        assert b"MLflow" in page.read()
    open_ui(base)
    methods = table_page("1", "tags.kind = 'summary'", "metrics.`rank`")
    [overview] = MlflowClient(store_uri).search_runs(["1"], "tags.kind = 'overview'")
    table = run_link("1", overview.info.run_id, "/artifacts/methods.csv")
    links = [f"tiny: {base}/{methods}", f"  tiny, main: {base}/{table}"]
    assert capsys.readouterr().out.splitlines() == links
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            command = words.read_bytes()
            assert b"server" not in command or store_uri.encode() not in command, "others see it"
    process.send_signal(end)
    if end != signal.SIGKILL:
        text = process.communicate(timeout=30)[1]
        assert process.returncode == 0
        assert "warning" not in text
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(base, timeout=5).close()
        except OSError:
            return
        time.sleep(0.1)
    pytest.fail("the server is still there")


@pytest.mark.parametrize("port", ["0", "-1", "70000"])
def test_a_port_that_is_none_is_refused(port):
    done = CliRunner().invoke(app, ["ui", "--port", port])
    assert done.exit_code == 2
    assert "--port" in done.stderr


@pytest.mark.slow
def test_other_machines_may_ask_by_the_names_that_are_allowed(store_uri, opened):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    opened(store_uri, "0.0.0.0", port, "elsewhere.org")
    names = {"elsewhere.org": 200, "localhost": 200, "127.0.0.1": 200, "attacker.org": 403}
    for name, status in names.items():
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/ajax-api/2.0/mlflow/runs/search",
            b'{"experiment_ids": ["0"]}',
            {"Host": f"{name}:{port}", "Origin": f"http://{name}:{port}", "Content-Type": "application/json"},
        )
        if status == 200:
            urllib.request.urlopen(asked).close()
        else:
            with pytest.raises(urllib.error.HTTPError, match=str(status)):
                urllib.request.urlopen(asked)


def test_a_host_that_does_not_exist_is_named(store_uri):
    with pytest.raises(TrackingError, match=r"--host a\.\.b: no address"):
        open_ui(store_uri, host="a..b")


@pytest.mark.parametrize("host", ["0.0.0.0", pytest.param("::", marks=needs_ipv6), link_local()])
def test_an_address_that_others_reach_is_warned_of(store_uri, host, monkeypatch, capsys):
    """The server itself is replaced by a program that ends at once: it is not what is tested here."""
    if host is None:
        pytest.skip("this machine has no link-local address")
    monkeypatch.setattr(ui.sys, "executable", "/bin/false")
    with pytest.raises(TrackingError, match="ended with status 1"):
        open_ui(store_uri, host=host)
    [warning] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning")]
    assert f"listens on {host.partition('%')[0]} and asks for no password" in warning
    assert "can read and change the runs" in warning
