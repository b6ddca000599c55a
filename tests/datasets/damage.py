"""Damaged files for the readers: whatever the bytes, a reader gives rows or raises MalformedData."""

import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers import RawRows


def damaged(valid: bytes) -> st.SearchStrategy[bytes]:
    """Arbitrary bytes, and the valid file cut, with bytes changed, or with bytes put in."""
    edit = st.tuples(st.integers(0, len(valid)), st.integers(0, 1), st.binary(max_size=4))
    return st.one_of(
        st.binary(max_size=200),
        st.integers(0, len(valid) - 1).map(lambda end: valid[:end]),
        st.lists(edit, max_size=4).map(lambda edits: _edit(valid, edits)),
    )


def _edit(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for place, replace, new in edits:
        data = data[:place] + new + data[place + replace * len(new) :]
    return data


def read_bytes(reader: Callable[..., RawRows], *contents: bytes) -> RawRows:
    """Read files of these bytes, whose names are file, file2, …"""
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            Path(folder) / f"file{number if number > 1 else ''}" for number in range(1, len(contents) + 1)
        ]
        for path, data in zip(paths, contents, strict=True):
            path.write_bytes(data)
        return reader(*paths)


def assert_refused(message: str, reader: Callable[..., RawRows], *contents: bytes) -> None:
    """Check that files of these bytes are refused with such a message."""
    with pytest.raises(MalformedData, match=message):
        read_bytes(reader, *contents)


def gives_or_complains(action: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call; the one allowed error names file, place and problem. Return what it gave, or None."""
    try:
        return action(*arguments, **options)
    except MalformedData as error:
        complaint = (error.file, error.place, error.problem)
    assert all(complaint)
    return None


def reads_or_complains(reader: Callable[[Path], RawRows], data: bytes) -> None:
    """Check that reading a file of these bytes gives rows with labels, or complains."""
    rows = gives_or_complains(read_bytes, reader, data)
    assert rows is None or rows.features.shape[0] == rows.labels.shape[0]


def peak_bytes(action: Callable[[], object]) -> int:
    """Return the most memory that Python and numpy held at once during a call."""
    tracemalloc.start()
    try:
        action()
    except MalformedData:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak
