"""A table of 30 rows, and catalogues whose only dataset is that table."""

import hashlib

import pytest

from eigenbench.datasets import DatasetUnavailable, fetch
from eigenbench.datasets.catalogue import Catalogue
from eigenbench.datasets.storage import prepared_folder, raw_folder, resolve_data_dir

TABLE = b"".join(b"%d,%d,%s\n" % (i, i * i % 7, b"xyz"[i % 3 : i % 3 + 1]) for i in range(30))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def table_entry(*sources: dict, content: bytes = TABLE, **changes) -> dict:
    """An entry of one table whose only file has the given sources."""
    return {
        "title": "A table",
        "licence": "none",
        "citation": "none",
        "homepage": "http://localhost/",
        "format": {"reader": "table"},
        "parts": {"all": ["table.csv"]},
        "split": {"kind": "random", "test_fraction": 0.2, "stratify": True},
        "expect": {"rows": {"all": 30}, "features": 2, "classes": 3},
        "files": {"table.csv": {"sha256": sha256(content), "bytes": len(content), "sources": list(sources)}},
    } | changes


def catalogue_of(**entries: dict) -> Catalogue:
    return Catalogue.model_validate({"path": "test.yaml", "datasets": entries})


def raw():
    """Return the folder of the table as its sources give it."""
    return raw_folder(resolve_data_dir(), "t")


def prepared():
    """Return the folder of its arrays."""
    return prepared_folder(resolve_data_dir(), "t")


def fetch_table(*sources: dict, **changes):
    return fetch("t", catalogue=catalogue_of(t=table_entry(*sources, **changes)), progress=False)


def why_not(*sources: dict, **changes):
    """Return why none of the sources gives the table, which leaves nothing behind."""
    with pytest.raises(DatasetUnavailable) as caught:
        fetch_table(*sources, **changes)
    assert not list(raw().iterdir())
    return caught.value.reasons


def fetch_two(contents: dict[str, bytes], source_of):
    """Fetch two tables, each from the source that a function gives for its name."""
    files = {
        name: {"sha256": sha256(data), "bytes": len(data), "sources": [source_of(name)]}
        for name, data in contents.items()
    }
    return fetch_table(files=files, parts={"all": list(files)})
