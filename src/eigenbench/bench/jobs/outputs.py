"""Output folders: writable, of one workflow at a time, and which of their files are damaged or out of date.

Snakemake runs a job again when a parameter differs from the one of its last execution. So every job has the
parameter ``replaces``. For a damaged output, and for a record of other settings, it is the time of the file's
last change; the job writes it into the file that takes its place, and from then on it is read there. Nothing
is changed while jobs are planned: `OutputStates.set_aside` renames damaged files when the jobs begin.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from eigenbench.bench.components import MissingExtraError
from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.records.sealed_json import REFUSED, seal_matches
from eigenbench.datasets.catalogue import Catalogue
from eigenbench.datasets.fetching import is_current

#: The lock in a folder of results, and the descriptors that hold locks until this process ends.
LOCK = ".lock"
_HELD: list[int] = []

_FROM_ELSEWHERE = (
    "If this run ends for a missing file, it was made from another folder: run the same command again."
)


class OutputStates:
    """The damaged outputs among those that were asked for, each with a message or none, and the missing ones.

    Outputs that a storage provider keeps (``stored``) are whole, and not looked at. ``planned`` has the run
    key of each record and what determines its result: Snakemake's own notes may be gone or of another folder.
    """

    def __init__(self, results: Path, data: Path, catalogue: Catalogue, stored: bool) -> None:
        self.results, self.data, self.catalogue, self.stored = results, data, catalogue, stored
        self.planned: dict[Path, tuple[str, JobSpec]] = {}
        self.damaged: dict[Path, str] = {}
        self.missing: set[Path] = set()

    def of_records(self, *records: str) -> str:
        """Return what the records of some runs replace, as a JSON object by file."""
        states = {str(path): self._state(path, _damage) for path in map(Path, records)}
        return json.dumps({path: state for path, state in states.items() if state})

    def of_dataset(self, name: str) -> str:
        """Return what the state of a prepared dataset replaces."""

        def damage(state: Path, content: bytes) -> dict[Path, str]:
            if not seal_matches(content):
                return {state: f"{state}: damaged or changed after it was written; prepared again"}
            if json.loads(content)["status"] != "ok":  # no source had it, or its files were malformed
                return {state: ""}
            if is_current(name, data_dir=self.data, catalogue=self.catalogue):
                return {}
            return {state: f"{name}: its prepared data or its source files changed; prepared again"}

        return self._state(self.data / "prepared" / f"{name}.json", damage)

    def of_receipt(self, receipt: str | Path, is_current: Callable[[Path], bool]) -> str:
        """Return what the receipt of an import into MLflow, below the results, replaces."""
        receipt = self.results / receipt
        reason = f"{receipt}: its MLflow store is gone or another one; imported again"
        return self._state(receipt, lambda path, content: {} if is_current(path) else {path: reason})

    def _state(self, path: Path, damage: Callable[[Path, bytes], dict[Path, str]]) -> str:
        if self.stored:
            return ""
        try:
            content = path.read_bytes()
        except OSError:  # perhaps because it was set aside
            self.missing.add(path)
            return _last_change(Path(f"{path}{REFUSED}"))
        damaged = damage(path, content)
        if damaged:
            self.damaged |= {path: "", **damaged}
        elif not self._out_of_date(path, fields := json.loads(content)):
            return fields.get("replaces") or ""
        return _last_change(path)

    def _out_of_date(self, path: Path, fields: Mapping[str, Any]) -> bool:
        """Return whether a record has other settings, or lacked a package that is installed now."""
        if path not in self.planned:
            return False
        key, spec = self.planned[path]
        failure = fields.get("failure") or {}
        if failure.get("type") != MissingExtraError.__name__:
            return fields.get("run_key") != key
        try:
            for name in spec.components:
                spec.load(name)
        except MissingExtraError:
            return fields.get("run_key") != key
        return True

    @property
    def make_data(self) -> bool:
        """True if a dataset is to be prepared. Data that are complete may be read-only."""
        return self.stored or any(self.data in path.parents for path in (*self.damaged, *self.missing))

    def set_aside(self) -> list[str]:
        """Rename the damaged files, so that no other command takes them for results; return the messages."""
        for path in self.damaged:
            path.rename(f"{path}{REFUSED}")
        messages = [reason for reason in self.damaged.values() if reason]
        return [*messages, _FROM_ELSEWHERE] if messages else []


def _last_change(path: Path) -> str:
    try:
        return str(path.stat().st_mtime_ns)
    except OSError:
        return ""


def _damage(report: Path, content: bytes) -> dict[Path, str]:
    """Return what is wrong with a sealed file, or with the size of a file that it names."""
    if not seal_matches(content):
        return {report: f"{report}: damaged or changed after it was written; set aside, and made again"}
    for name, expected in (json.loads(content).get("files") or {}).items():
        file = report.with_name(name)
        if file.exists() and file.stat().st_size != expected["bytes"]:
            return {file: f"{file}: not as large as its record says; set aside, and made again"}
    return {}


def check_writable(folders: Mapping[str, str]) -> None:
    """Create folders, given by configuration key; the OSError for one that is not writable names its key."""
    for key, folder in folders.items():
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise OSError(
                f"{folder}: cannot write there ({error.strerror}); make it writable, "
                f"or name another {key} in config/config.yaml"
            ) from error


def hold_lock(folder: Path) -> str | None:
    """Lock a folder of results until this process ends; return a warning where the file system has no locks.

    Snakemake's own lock would stay after ``kill -9`` and ask for ``--unlock``, and it does not know of
    another working folder with the same results. Raises a RuntimeError that names the process with the lock.
    """
    path = folder / LOCK
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:  # of another member of the group
        handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 32, 0).decode(errors="replace").strip()
        os.close(handle)
        raise RuntimeError(
            f"another run (process {holder}) is working on {folder}; wait for it or stop it"
        ) from None
    except OSError as error:
        os.close(handle)
        return f"{folder}: its file system has no locks ({error.strerror}); start one run at a time there"
    if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_RDWR:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
    _HELD.append(handle)
    return None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder of results for a block; see `hold_lock`."""
    before = len(_HELD)
    hold_lock(folder)
    try:
        yield
    finally:
        for handle in _HELD[before:]:
            os.close(handle)
        del _HELD[before:]


def not_from_the_future(files: Iterable[Path]) -> None:
    """Give files that another machine's clock has dated in the future the time of now, the same for all.

    Snakemake refuses outputs that are older than their inputs, and would delete what jobs have made of them.
    """
    now = time.time()
    for file in files:
        with suppress(OSError):
            if file.stat().st_mtime > now:
                os.utime(file, (now, now))
