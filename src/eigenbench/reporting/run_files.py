"""Where the files of a run are, as links of the page, and the command that makes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import Run


@dataclass(frozen=True)
class RunFiles:
    """The files of runs, seen from the page.

    Attributes
    ----------
    page_dir : Path
        The folder of the page; links are relative to it.
    results_dir : Path or None
        The folder of the records; without it nothing is linked.
    logs_dir : Path or None
        The folder of the logs.
    """

    page_dir: Path
    results_dir: Path | None = None
    logs_dir: Path | None = None

    def record(self, record: Record) -> str:
        """Return the path of a run's record, which is what `snakemake` is given to make it."""
        return (self.results_dir or Path("results")).joinpath(_run(record).record).as_posix()

    def record_link(self, record: Record) -> str:
        """Return the address of a run's record; empty where the folder of the records is not known."""
        return "" if self.results_dir is None else self._link(self.results_dir / _run(record).record)

    def log_link(self, record: Record) -> str:
        """Return the address of the log of the job that made a run; empty where there is none."""
        return next((self._link(path) for path in self._logs(record) if path.is_file()), "")

    def _logs(self, record: Record) -> Iterator[Path]:
        """Yield where the log can be: of the run's own job, else of one for a seed or for a method."""
        if self.logs_dir is not None:
            folder = self.logs_dir / _run(record).folder
            for place in (folder, *list(folder.parents)[:2]):
                yield from (place / name for name in ("train.log", "measure.log", "fit.log"))

    def _link(self, path: Path) -> str:
        return quote(Path(os.path.relpath(path, self.page_dir)).as_posix())


def _run(record: Record) -> Run:
    names = (record.suite, record.experiment, record.dataset, record.method, record.classifier)
    return Run(*names, record.seed, record.run_key)
