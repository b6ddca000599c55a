"""The MLflow dashboard on the store that the workflow fills."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import ProxyHandler, build_opener

from eigenbench.bench.jobs.child_process import end_with_parent
from eigenbench.tracking import store
from eigenbench.tracking.addresses import (
    TrackingError,
    is_server,
    resolve_uri,
    run_link,
    shown_uri,
    table_page,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient

# For a busy machine: the server takes seconds on an idle one, and ends by itself where it cannot start.
_STARTUP_SECONDS = 300


def open_ui(
    tracking_uri: str | None = None,
    host: str = "127.0.0.1",
    port: int = 5000,
    allowed_hosts: str | None = None,
) -> None:
    """Serve the dashboard until interrupted, and print a link to each suite.

    A store that is a running MLflow server already is only linked to. When the port is taken, the next free
    one is used. Whoever reaches the dashboard can read and change the runs: for an address that other
    machines may reach, a warning is printed. These may ask by the names in ``allowed_hosts``, separated by
    commas; by default those that this machine knows of itself.

    Raises
    ------
    TrackingError
        If there is no store yet, no such host, no free port, or the server does not start.
    TrackingUnavailable
        If the store cannot be reached.
    """
    uri = resolve_uri(tracking_uri)
    with store.unavailable_on_failure(uri, Path("results")):
        client = store.read_store(uri)
        if client is None:
            raise TrackingError(
                f"{shown_uri(uri)} does not exist: nothing has been tracked here yet. Run snakemake first, "
                f"or change to the folder where it ran, or set MLFLOW_TRACKING_URI"
            )
        pages = _pages(client)
    if is_server(uri):
        _print_links(shown_uri(uri), pages)
        return
    family, address = _address_of(host)
    if not ip_address(address).is_loopback:
        print(
            f"warning: the dashboard listens on {address} and asks for no password: whoever reaches this "
            f"address can read and change the runs",
            file=sys.stderr,
            flush=True,
        )
        allowed_hosts = allowed_hosts or ",".join(_own_names(address))
    port = _free_port(family, address, port)
    base_url = f"http://{f'[{address}]' if ':' in address else address}:{port}"
    local_url = base_url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    with _server(uri, address, port, allowed_hosts) as server:
        _wait_until_up(server, local_url)
        _print_links(local_url, pages)
        print("Ctrl-C stops it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.wait()


def _pages(client: MlflowClient) -> dict[str, str]:
    """Return the pages of all suites and their experiments below the address of the dashboard, by title."""
    pages = {}
    for suite in client.search_experiments(order_by=["name ASC"]):
        if suite.name == "Default":
            continue
        pages[suite.name] = table_page(suite.experiment_id, "tags.kind = 'summary'", "metrics.`rank`")
        found = client.search_runs([suite.experiment_id], "tags.kind = 'overview'")
        for run in sorted(found, key=lambda run: str(run.data.tags["experiment"])):
            page = run_link(suite.experiment_id, run.info.run_id, "/artifacts/methods.csv")
            pages[f"  {suite.name}, {run.data.tags['experiment']}"] = page
    return pages


def _print_links(base_url: str, pages: dict[str, str]) -> None:
    if not pages:
        print(f"MLflow: {base_url} (no suite has been tracked there yet)", flush=True)
    for title, page in pages.items():
        print(f"{title}: {base_url.rstrip('/')}/{page}", flush=True)


def _address_of(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        family, *_, place = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
        return family, str(ip_address(str(place[0])))
    except (OSError, ValueError) as error:
        raise TrackingError(f"--host {host}: no address to listen on ({error})") from error


def _own_names(address: str) -> list[str]:
    """Return the names of this machine as a browser may write them, with any port."""
    names = dict.fromkeys(["localhost", "127.0.0.1", "[::1]", socket.gethostname(), socket.getfqdn()])
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        found = []
    for own in [address, *(str(place[0]) for *_, place in found)]:
        names[f"[{own}]" if ":" in own else own] = None
    return [form for name in names for form in (name, f"{name}:*")]


def _free_port(family: socket.AddressFamily, address: str, port: int) -> int:
    if not 1 <= port <= 65535:
        raise TrackingError(f"--port {port}: choose a number from 1 to 65535")
    for candidate in range(port, min(port + 100, 65536)):
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, candidate))
            except OSError as error:
                reason = error
            else:
                return candidate
    raise TrackingError(f"no free port on {address} from {port} on ({reason}); choose another with --port")


@contextlib.contextmanager
def _server(uri: str, address: str, port: int, hosts: str | None) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``mlflow server``, which ends its own processes when it is ended, and end it with this process."""
    command = [sys.executable, "-m", "mlflow", "server", "--host", address, "--port", str(port)]
    command += ["--workers", "1", "--uvicorn-opts", "--log-level warning"]
    if hosts:
        origins = [f"{scheme}://{name.strip()}" for name in hosts.split(",") for scheme in ("http", "https")]
        command += ["--allowed-hosts", hosts, "--cors-allowed-origins", ",".join(origins)]
    # The address of the store may hold a password, and every user sees the words of a command.
    quiet = {"MLFLOW_BACKEND_STORE_URI": uri, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    server = subprocess.Popen(
        command,
        env=os.environ | quiet,
        stdout=subprocess.DEVNULL,
        preexec_fn=partial(end_with_parent, sent=signal.SIGTERM),
    )
    try:
        yield server
    finally:
        server.terminate()
        server.wait()


def _wait_until_up(server: subprocess.Popen[bytes], base_url: str) -> None:
    opener = build_opener(ProxyHandler({}))
    deadline = time.monotonic() + _STARTUP_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise TrackingError(f"mlflow server ended with status {server.returncode}; its message is above")
        with contextlib.suppress(OSError):
            opener.open(f"{base_url}/health", timeout=5).close()
            return
        time.sleep(0.2)
    raise TrackingError(f"mlflow server does not answer at {base_url} after {_STARTUP_SECONDS} s")
