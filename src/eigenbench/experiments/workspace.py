"""Where the artifacts of a results folder lie, and how they are read and written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenbench.atomic_files import write_json
from eigenbench.experiments.tasks import Task


class ArtifactError(RuntimeError):
    """An artifact that a task needs is missing or altered."""


@dataclass(frozen=True)
class Workspace:
    """A results folder.

    Each task has the folder ``artifacts/<stage>/<key>``: its files, and ``meta.json``, written last.
    """

    root: Path

    def artifact(self, task: Task) -> Path:
        """Return the folder of a task."""
        return self.root / "artifacts" / task.stage / task.key

    def read_meta(self, task: Task) -> dict[str, Any]:
        """Return what a finished task reported.

        Raises
        ------
        ArtifactError
            If the task has not been run, or its file is not readable.
        """
        path = self.artifact(task) / "meta.json"
        try:
            return json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            unit = f"delete {self.root / task.stage} and run snakemake again"
            raise ArtifactError(
                f"{path}: cannot read the result of a finished task ({error}); {unit}"
            ) from error

    def write_meta(self, task: Task, meta: dict[str, Any]) -> None:
        """Store what a task reported; from here on it counts as finished."""
        write_json(self.artifact(task) / "meta.json", meta)

    def dataset(self, name: str) -> dict[str, Any]:
        """Return the outcome of preparing a dataset: its status, and its card or why it is not there."""
        return json.loads((self.root / "datasets" / f"{name}.prepared.json").read_bytes())

    def record(self, suite: str, run_key: str) -> Path:
        """Return the path of a run's record."""
        return self.root / "records" / suite / f"{run_key}.json"

    def is_current(self, task: Task, fingerprint: str) -> bool:
        """Tell whether a task was finished from the same inputs by the same code, and its files are whole."""
        try:
            meta = self.read_meta(task)
        except ArtifactError:
            return False
        files = meta.get("files", {})
        return (
            meta.get("status") == "ok"
            and meta.get("fingerprint") == fingerprint
            and all(_sha256_or_none(self.artifact(task) / name) == digest for name, digest in files.items())
        )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sha256_or_none(path: Path) -> str | None:
    try:
        return sha256(path)
    except OSError:
        return None
