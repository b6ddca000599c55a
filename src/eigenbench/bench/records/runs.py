"""A run: its name, and where its files are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

#: Stands for the classifier in the records of protocols, which train none.
NO_CLASSIFIER = "none"

#: What a trained and tested run leaves, and what a measured one does.
TRAINED_FILES = ("record.json", "model.skops", "predictions.npz")
MEASURED_FILES = ("record.json",)
#: What reports read of a run.
REPORTED_FILES = ("record.json", "predictions.npz")
#: The beginning of the names of receipts, which imports into MLflow leave with suites and experiments.
RECEIPTS = "tracked."
#: Every file among folders of results: names that suites, experiments, methods, classifiers cannot have.
RESULT_FILES = frozenset((*TRAINED_FILES, *MEASURED_FILES))
#: The tables of a report, each with a caption in workflow/report.
REPORT_TABLES = ("results", "comparison", "leaderboard", "ranks", "pairs", "searches")
#: What a report leaves in its folder, where the folders of single suites stand too.
REPORT_FILES = ("index.html", *(f"{table}.csv" for table in REPORT_TABLES), "figures")


@dataclass(frozen=True)
class Run:
    """One run: suite › experiment › method × classifier × seed.

    ``key`` is the SHA-256 of everything in the suite that determines the result, 16 hexadecimal digits.
    """

    suite: str
    experiment: str
    dataset: str
    method: str
    classifier: str
    seed: int
    key: str

    @property
    def identity(self) -> dict[str, Any]:
        """Identity of the run, by the names of the record's fields."""
        fields = asdict(self)
        return {"run_key": fields.pop("key"), **fields}

    @property
    def folder(self) -> str:
        """Folder of its files, below the results folder."""
        return f"{self.suite}/{self.experiment}/{self.method}/{within_method(self.seed, self.classifier)}"

    @property
    def record(self) -> str:
        """The path of its record, below the results folder."""
        return f"{self.folder}/record.json"


def within_method(seed: int | str, classifier: str = NO_CLASSIFIER) -> str:
    """Return the folder of a run below that of its method; protocols have no folder for a classifier."""
    return f"seed-{seed}" + ("" if classifier == NO_CLASSIFIER else f"/{classifier}")


def run_files(seed: int | str, classifier: str) -> list[str]:
    """Return the files of a run below the folder of its method."""
    names = MEASURED_FILES if classifier == NO_CLASSIFIER else TRAINED_FILES
    return [f"{within_method(seed, classifier)}/{name}" for name in names]
