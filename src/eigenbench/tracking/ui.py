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

from eigenbench.bench.jobs.supervision import end_with_parent
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


def open_ui(
    tracking_uri: str | None = None,
    host: str = "127.0.0.1",
    port: int = 5000,
    allowed_hosts: str | None = None,
) -> None:
    """Serve the dashboard until interrupted, and print a link to each suite; a server is only linked to.

    When the port is taken, the next free one is used. An address that other machines may reach brings a
    warning; these may ask by the names in ``allowed_hosts``, by default by private addresses.
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
    address, port = _free_address(host, port)
    if not ip_address(address).is_loopback:
        warning = f"warning: the dashboard listens on {address} and asks for no password: whoever"
        print(f"{warning} reaches this address can read and change the runs", file=sys.stderr)
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
    base_url = f"http://{f'[{reached}]' if ':' in reached else reached}:{port}"
    with _server(uri, address, port, allowed_hosts, base_url) as server:
        _print_links(base_url, pages)
        print("Ctrl-C stops it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.wait()


def _pages(client: MlflowClient) -> dict[str, str]:
    """Return the pages of all suites and their experiments below the address of the dashboard, by title."""
    pages = {}
    for suite in client.search_experiments(filter_string="name != 'Default'", order_by=["name ASC"]):
        pages[suite.name] = table_page(suite.experiment_id, "tags.kind = 'summary'", "metrics.`rank`")
        found = client.search_runs([suite.experiment_id], "tags.kind = 'overview'")
        for run in sorted(found, key=lambda run: str(run.data.tags["experiment"])):
            page = run_link(suite.experiment_id, run.info.run_id, "/artifacts/methods.csv")
            pages[f"  {suite.name}, {run.data.tags['experiment']}"] = page
    return pages


def _print_links(base_url: str, pages: dict[str, str]) -> None:
    lines = [f"{title}: {base_url.rstrip('/')}/{page}" for title, page in pages.items()]
    print(*lines or [f"MLflow: {base_url} (no suite has been tracked there yet)"], sep="\n", flush=True)


def _free_address(host: str, port: int) -> tuple[str, int]:
    """Return the numeric address of a host, and the first port from this one on that is free there."""
    try:
        family, _, _, _, (address, _, *scope) = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except (OSError, ValueError) as error:
        raise TrackingError(f"--host {host}: no address to listen on ({error})") from error
    reason = None
    for candidate in range(port, min(port + 100, 65536)):
        try:
            socket.create_server((address, candidate, *scope), family=family).close()
            return str(address), candidate
        except OSError as error:
            reason = error
    raise TrackingError(f"no free port on {host} from {port} on ({reason}); choose another with --port")


@contextlib.contextmanager
def _server(
    uri: str, address: str, port: int, hosts: str | None, base_url: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``mlflow server``, which ends its own processes when it is ended, and end it with this process."""
    command = [sys.executable, "-m", "mlflow", "server", "--host", address, "--port", str(port)]
    command += ["--workers", "1", "--uvicorn-opts", "--log-level warning"]
    if hosts:
        names = [*hosts.replace(" ", "").split(","), "localhost", base_url[7:].rpartition(":")[0]]
        forms = [form for name in names for form in (name, f"{name.replace('[', '[[]')}:*")]
        origins = [f"{scheme}://{form}" for form in forms for scheme in ("http", "https")]
        command += ["--allowed-hosts", ",".join(forms), "--cors-allowed-origins", ",".join(origins)]
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
    opener = build_opener(ProxyHandler({}))
    try:
        while server.poll() is None:
            with contextlib.suppress(OSError):
                opener.open(f"{base_url}/health", timeout=5).close()
                break
            time.sleep(0.2)
        else:
            raise TrackingError(f"mlflow server ended with status {server.returncode}; its message is above")
        yield server
    finally:
        server.terminate()
        server.wait()
