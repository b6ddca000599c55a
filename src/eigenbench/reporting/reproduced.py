"""On how many machines the runs behind a published number came out again, by receipts of the reference."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from eigenbench.reporting.comparison import Comparison
from eigenbench.reproduction.receipt import Receipt, machines_that_reproduced, read_receipts
from eigenbench.reproduction.reference import ReproductionError, load_reference


class ReproducedOn:
    """Counts machines for rows of the comparison; receipts and references are read when first needed.

    Parameters
    ----------
    reference_dir : Path, optional
        Folder of the reference; by default the one that comes with eigenbench.
    """

    def __init__(self, reference_dir: Path | None = None) -> None:
        self._folder = reference_dir
        self._digests: dict[str, str] = {}

    @cached_property
    def _receipts(self) -> list[Receipt]:
        return read_receipts(self._folder)[0]

    def __call__(self, row: Comparison) -> str:
        """Return ``k machines``, or a dash where no receipt says that all seeds came out again."""
        of_suite = [receipt for receipt in self._receipts if receipt.suite == row.suite]
        if row.group is None or not of_suite:
            return "–"
        count = machines_that_reproduced(
            of_suite, self._digest(row.suite), row.experiment, row.group.method, row.group.classifier
        )
        return "–" if not count else "1 machine" if count == 1 else f"{count} machines"

    def _digest(self, suite: str) -> str:
        if suite not in self._digests:
            try:
                self._digests[suite] = load_reference(suite, self._folder).digest
            except ReproductionError:
                self._digests[suite] = ""
        return self._digests[suite]
