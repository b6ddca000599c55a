"""Receipts: the outcome of a comparison with the reference on one machine, as sealed JSON files."""

from __future__ import annotations

import hashlib
import json
import math
from functools import cache, partial
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, ValidationError

from eigenbench.bench.records.record import Environment
from eigenbench.bench.records.sealed_json import seal_matches, write_sealed
from eigenbench.datasets.strict_model import StrictModel
from eigenbench.reproduction.reference import ReproductionError, default_reference_folder, load_reference

#: The folder of receipts, in the folder of the reference.
RECEIPTS = "receipts"

#: Verdicts on one metric, sources of its noise, and verdicts on a run.
ValueVerdict = Literal["within noise", "different", "noise unknown"]
NoiseSource = Literal["seeds", "rows"]
RunVerdict = Literal["identical", "within noise", "different", "not compared", "not run", "missing"]


class ComparedValue(StrictModel):
    """One metric that differs by more than rounding; ``here`` is None where the run lacks it.

    ``noise`` is the largest difference that noise explains, in the unit of the values.
    """

    reference: float
    here: float | None
    verdict: ValueVerdict
    noise: float | None = None
    noise_of: NoiseSource | None = None

    @property
    def in_noise(self) -> float:
        """Difference of the two values in units of the noise; infinite where that is zero or unknown."""
        if self.here is None or not self.noise:
            return math.inf
        return abs(self.here - self.reference) / self.noise


class ComparedRuns(StrictModel):
    """Runs of one method and classifier that differ only in their seed and have the same outcome.

    README.md in the folder of receipts describes the verdicts. ``environment`` is an index among the
    receipt's environments, ``n_identical`` and ``n_rounded`` count the metrics that are identical and those
    that differ by rounding, ``values`` has the others, and ``causes`` what differs from the place of the
    reference, as far as known. Metrics of time and memory are not compared.
    """

    experiment: str
    dataset: str
    method: str
    classifier: str
    seeds: list[int]
    verdict: RunVerdict
    why: str = ""
    dataset_sha256: str | None = None
    environment: int | None = None
    n_identical: int = 0
    n_rounded: int = 0
    values: dict[str, ComparedValue] = {}
    causes: list[str] = []

    @property
    def names(self) -> list[str]:
        """Each run in one line."""
        return [f"{self.experiment}/{self.method}/{self.classifier}/seed-{seed}" for seed in self.seeds]


class Receipt(StrictModel):
    """Comparison of the runs of one suite, in its order, with the reference.

    ``reference`` is `eigenbench.reproduction.reference.Reference.digest`, ``eigenbench`` the version that
    compared, ``made`` the time in UTC, and ``environments`` are those of the runs, without the measured rate
    of the machine.
    """

    schema_name: Literal["eigenbench receipt"] = "eigenbench receipt"
    schema_version: Literal[2] = 2
    suite: str
    reference: str = Field(pattern=r"^[0-9a-f]{64}$")
    eigenbench: str
    made: str
    environments: list[Environment]
    runs: list[ComparedRuns]

    @property
    def machine(self) -> str:
        """Twelve hexadecimal digits of processor and operating system: machines of one type count as one."""
        kinds = sorted({(found.cpu, found.platform.partition("-")[0]) for found in self.environments})
        return hashlib.sha256(json.dumps(kinds).encode()).hexdigest()[:12]

    def counts(self) -> dict[str, int]:
        """Count runs by verdict."""
        verdicts = [run.verdict for run in self.runs for _ in run.seeds]
        return {verdict: verdicts.count(verdict) for verdict in get_args(RunVerdict)}

    @property
    def holds(self) -> bool:
        """True where no run is different or missing."""
        return not {run.verdict for run in self.runs} & {"different", "missing"}


def write_receipt(receipt: Receipt, folder: Path) -> Path:
    """Write a receipt as ``<suite>-<machine>.json``, in place of an older one of the same machine."""
    path = folder / f"{receipt.suite}-{receipt.machine}.json"
    write_sealed(path, receipt.model_dump(mode="json"))
    return path


def read_receipt(path: Path) -> Receipt:
    """Read a receipt; a ReproductionError where it is unreadable, was changed, or has another schema."""
    try:
        content = path.read_bytes()
        if seal_matches(content):
            fields = json.loads(content)
            del fields["seal"]
            return Receipt.model_validate(fields)
        why = "no receipt, or changed after it was written (its seal does not match)"
    except OSError as error:
        raise ReproductionError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    raise ReproductionError(f"{path}: {why}; make it again with eigenbench verify")


def read_receipts(folder: Path | None = None) -> tuple[list[Receipt], list[str]]:
    """Read the receipts beside a reference, and say what is wrong with those that cannot be used."""
    receipts, problems = [], []
    for path in sorted(((folder or default_reference_folder()) / RECEIPTS).glob("*.json")):
        try:
            receipts.append(read_receipt(path))
        except ReproductionError as error:
            problems.append(str(error))
    return receipts, problems


class MachineCounts:
    """Count of the machines that reproduced a method, by the receipts of the reference as it is now."""

    def __init__(self, reference_dir: Path | None = None) -> None:
        self._receipts, _ = read_receipts(reference_dir)
        self._digest = cache(partial(_digest, reference_dir=reference_dir))

    def count(self, suite: str, experiment: str, method: str, classifier: str) -> int:
        """Return on how many machines every run of one method and classifier was reproduced."""
        machines = set()
        for receipt in self._receipts:
            verdicts = {
                run.verdict
                for run in receipt.runs
                if (run.experiment, run.method, run.classifier) == (experiment, method, classifier)
            }
            present = receipt.suite == suite and receipt.reference == self._digest(suite)
            if present and verdicts and verdicts <= {"identical", "within noise"}:
                machines.add(receipt.machine)
        return len(machines)


def _digest(suite: str, reference_dir: Path | None) -> str:
    try:
        return load_reference(suite, reference_dir).digest
    except ReproductionError:
        return ""
