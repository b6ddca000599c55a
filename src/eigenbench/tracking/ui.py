"""The MLflow dashboard on the store that the workflow fills."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from eigenbench.tracking import store
from eigenbench.tracking.errors import TrackingError, TrackingUnavailable
from eigenbench.tracking.views import METHODS, saved_views, view_url

if TYPE_CHECKING:
    from mlflow.entities import Experiment

# For a busy machine: the server takes seconds on an idle one, and ends by itself where it cannot start.
_STARTUP_SECONDS = 300


def open_ui(tracking_uri: str | None = None, host: str = "127.0.0.1", port: int = 5000) -> None:
    """Serve the dashboard until interrupted, and print links to the saved views of each suite.

    When the store is a running MLflow server already, only print the links.

    Parameters
    ----------
    tracking_uri : str, optional
        The store; by default ``MLFLOW_TRACKING_URI``, else ``sqlite:///mlflow.db``.
    host : str
        Address or name to listen on, of IPv4 or IPv6. Whoever reaches it can read and change the runs; for
        one that other machines may reach, a warning is printed.
    port : int
        Port to listen on; when it is taken, the next free one is used.

    Raises
    ------
    TrackingError
        If there is no store yet, no such host, no free port, or the server does not start.
    TrackingUnavailable
        If the store cannot be reached.
    """
    uri = store.resolve_uri(tracking_uri)
    experiments = _experiments(uri)
    if store.is_server(uri):
        _print_links(store.shown_uri(uri), experiments)
        return
    listen = _Address.of(host)
    if not listen.ip.is_loopback:
        print(
            f"warning: the dashboard listens on {listen.ip} and asks for no password: whoever reaches this "
            f"address can read and change the runs",
            file=sys.stderr,
            flush=True,
        )
    port = _free_port(listen, port)
    with _server(uri, str(listen.ip), port) as server:
        base_url = listen.url(port)
        _wait_until_up(server, base_url)
        _print_links(base_url, experiments)
        print("Ctrl-C stops it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.wait()


def _experiments(uri: str) -> list[Experiment]:
    path = store.sqlite_path(uri)
    if path is not None and not path.exists():
        raise TrackingError(
            f"{path} does not exist: nothing has been tracked here yet. Run snakemake first, or change to "
            f"the folder where it ran, or set MLFLOW_TRACKING_URI"
        )
    store.prepare_environment()
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    try:
        found = MlflowClient(uri, registry_uri=uri).search_experiments(order_by=["name ASC"])
    except MlflowException as error:
        raise TrackingUnavailable(
            f"cannot read the MLflow store {store.shown_uri(uri)}: {store.explain(error, uri)}"
        ) from error
    return [item for item in found if item.name != "Default"]


def _print_links(base_url: str, experiments: Sequence[Experiment]) -> None:
    if not experiments:
        print(f"MLflow: {base_url} (no suite has been tracked there yet)", flush=True)
    for item in experiments:
        views = saved_views(item.tags)
        first = METHODS if views.pop(METHODS, None) else None
        print(f"{item.name}: {view_url(base_url, item.experiment_id, first)}", flush=True)
        for key, title in views.items():
            print(f"  {title}: {view_url(base_url, item.experiment_id, key)}", flush=True)


@dataclass(frozen=True)
class _Address:
    """What to listen on."""

    family: socket.AddressFamily
    ip: IPv4Address | IPv6Address

    @classmethod
    def of(cls, host: str) -> _Address:
        try:
            family, *_, place = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
            return cls(family, ip_address(str(place[0])))
        except (OSError, ValueError) as error:
            raise TrackingError(f"--host {host}: no address to listen on ({error})") from error

    def url(self, port: int) -> str:
        """Return where a browser on this machine finds it; all addresses include the loopback one."""
        ip = self.ip
        if ip.is_unspecified:
            ip = ip_address("127.0.0.1" if ip.version == 4 else "::1")
        return f"http://{ip}:{port}" if ip.version == 4 else f"http://[{ip}]:{port}"


def _free_port(listen: _Address, port: int) -> int:
    for candidate in range(port, min(port + 100, 65536)):
        with socket.socket(listen.family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((str(listen.ip), candidate))
            except OSError as error:
                reason = error
            else:
                return candidate
    raise TrackingError(f"no free port on {listen.ip} from {port} on ({reason}); choose another with --port")


@contextlib.contextmanager
def _server(uri: str, host: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``mlflow server`` in a process group of its own, and end all of it at the end."""
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri]
    command += ["--host", host, "--port", str(port), "--workers", "1"]
    command += ["--uvicorn-opts", "--log-level warning"]
    environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield server
    finally:
        signal.signal(signal.SIGTERM, previous)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def _wait_until_up(server: subprocess.Popen[bytes], base_url: str) -> None:
    opener = build_opener(ProxyHandler({}))
    deadline = time.monotonic() + _STARTUP_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise TrackingError(f"mlflow server ended with status {server.returncode}; its message is above")
        with contextlib.suppress(URLError, OSError):
            opener.open(f"{base_url}/health", timeout=5).close()
            return
        time.sleep(0.2)
    raise TrackingError(f"mlflow server does not answer at {base_url} after {_STARTUP_SECONDS} s")
