"""A table of 30 rows, and catalogues whose only dataset is that table."""

import hashlib

from eigenbench.datasets.catalogue import Catalogue

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
        "files": {
            "table.csv": {"sha256": sha256(content), "bytes": len(content), "sources": list(sources)},
        },
    } | changes


def catalogue_of(**entries: dict) -> Catalogue:
    return Catalogue.model_validate({"path": "test.yaml", "datasets": entries})
