"""What SQLite and PostgreSQL need before MLflow uses them: a whole schema, made once, and cheap commits."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from eigenbench.tracking.errors import TrackingError

if TYPE_CHECKING:
    from sqlalchemy import Engine

# Write-ahead logging needs memory shared by all who have the file open: not so on network file systems.
_LOCAL_FILE_SYSTEMS = {"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"}

# Any number does that every import agrees on; this one is "eigenben" in ASCII.
_ADVISORY_LOCK = 0x656967656E62656E

_SECONDS_TO_WAIT = 5.0


def sqlite_path(uri: str) -> Path | None:
    """Return the absolute path of an SQLite store's file; None for any other store."""
    prefix, separator, path = uri.partition(":///")
    name = path.partition("?")[0]
    if not prefix.startswith("sqlite") or not separator or name in ("", ":memory:"):
        return None
    return Path(name).absolute()


def create_sqlite_store(path: Path, migrate: Callable[[str], object]) -> None:
    """Create a store under another name first: half a schema, left by a kill, could never be used.

    Parameters
    ----------
    path : Path
        The store's file.
    migrate : callable
        Called with the address of the unfinished store, to make its tables.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.new")
    for leftover in path.parent.glob(f"{unfinished.name}*"):
        leftover.unlink()
    with _engines_of(unfinished):
        migrate(f"sqlite:///{unfinished}")
    unfinished.replace(path)


@contextlib.contextmanager
def cheap_commits(path: Path) -> Iterator[None]:
    """Let an SQLite store take commits without waiting for the disk; afterwards it is as it was.

    Uses write-ahead logging: a killed process loses no commit, and a power failure at most the last ones,
    never the store itself. At the end the log goes into the file, which can then be copied, and be read from
    other machines. Where the file system is not known to be local, nothing changes.
    """
    if not _is_local(path):
        with _engines_of(path):
            yield
        return
    _try_journal(path, "WAL", timeout=5)
    try:
        with _engines_of(path):
            yield
    finally:
        _try_journal(path, "DELETE", timeout=0)


@contextlib.contextmanager
def first_use(uri: str) -> Iterator[None]:
    """Hold a database while MLflow makes its tables, so that no two processes do it at once.

    Connecting first also finds out that a database is absent; MLflow would try it again for two minutes.

    Raises
    ------
    TrackingError
        If the database's Python driver is not installed.
    """
    import sqlalchemy

    with _open_engine(uri) as engine, engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sqlalchemy.text(f"SELECT pg_advisory_lock({_ADVISORY_LOCK})"))
        yield


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an SQLite file that must exist, without ever writing to it; all that is read is of one moment."""
    address = f"file:{quote(str(path))}?mode=ro"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_SECONDS_TO_WAIT)) as connection:
        connection.execute("BEGIN")
        yield connection


def has_tables(uri: str) -> bool:
    """Return whether MLflow has made its tables in a database."""
    import sqlalchemy

    path = sqlite_path(uri)
    if path is not None and not path.exists():
        return False
    with _open_engine(uri) as engine:
        return sqlalchemy.inspect(engine).has_table("experiments")


@contextlib.contextmanager
def _open_engine(uri: str) -> Iterator[Engine]:
    import sqlalchemy

    try:
        engine = sqlalchemy.create_engine(uri, poolclass=sqlalchemy.NullPool)
    except ImportError as error:
        remedy = "eigenbench[postgres]" if uri.startswith("postgres") else error.name
        raise TrackingError(
            f"the store needs the Python package {error.name}: pip install '{remedy}', or use an SQLite file"
        ) from error
    except sqlalchemy.exc.ArgumentError as error:
        raise TrackingError(f"not the address of a database: {error}") from error
    try:
        yield engine
    finally:
        engine.dispose()


@contextlib.contextmanager
def _engines_of(path: Path) -> Iterator[None]:
    """Watch the engines that MLflow makes for a file: commits are cheap if safe, and all close at the end."""
    from sqlalchemy import Engine, event

    engines: set[Engine] = set()

    def opened(connection: Any, _record: Any) -> None:
        if isinstance(connection, sqlite3.Connection) and _file_of(connection) == path.resolve():
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            if mode == "wal":
                connection.execute("PRAGMA synchronous = NORMAL")

    def used(connection: Any) -> None:
        engine = connection.engine
        if engine not in engines and sqlite_path(str(engine.url)) == path:
            engines.add(engine)

    event.listen(Engine, "connect", opened)
    event.listen(Engine, "engine_connect", used)
    try:
        yield
    finally:
        event.remove(Engine, "connect", opened)
        event.remove(Engine, "engine_connect", used)
        for engine in engines:
            engine.dispose()


def _file_of(connection: sqlite3.Connection) -> Path | None:
    name = connection.execute("PRAGMA database_list").fetchone()[2]
    return Path(name).resolve() if name else None


def _try_journal(path: Path, mode: str, timeout: float) -> None:
    """Change the journal mode, unless somebody else uses the file; every mode is right, one is faster."""
    with (
        contextlib.suppress(sqlite3.OperationalError),
        contextlib.closing(sqlite3.connect(path, timeout=timeout)) as connection,
    ):
        connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()


def _is_local(path: Path) -> bool:
    """Return whether a file lies on a file system that is known to be this machine's own."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    found = (Path("/"), "")
    for line in mounts:
        before, _, after = line.partition(" - ")
        folder = Path(re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), before.split()[4]))
        if path.resolve().is_relative_to(folder) and len(folder.parts) >= len(found[0].parts):
            found = (folder, after.split()[0])
    return found[1] in _LOCAL_FILE_SYSTEMS
