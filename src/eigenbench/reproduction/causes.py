"""What is not as where the reference was made: the likely causes of a run that is not identical."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eigenbench.bench.records.record import Environment, Record
from eigenbench.reproduction.receipt import ComparedRun, Receipt
from eigenbench.reproduction.reference import ReferenceRun

UNKNOWN = "the environment of the reference is not recorded"


@dataclass(frozen=True)
class Origin:
    """Where a run gave just the values of the reference."""

    environment: Environment
    dataset_sha256: str | None


def known_origins(
    receipts: Iterable[Receipt], reference: str
) -> dict[tuple[str, str, str, int], list[Origin]]:
    """Collect from receipts where each run gave identical values, by experiment, method, classifier and seed.

    Results hold no environment, so this is how that of the reference is known.
    """
    found: dict[tuple[str, str, str, int], list[Origin]] = {}
    for receipt in receipts:
        if receipt.reference != reference:
            continue
        for run in receipt.runs:
            if run.verdict == "identical" and run.environment is not None:
                origin = Origin(receipt.environments[run.environment], run.dataset_sha256)
                found.setdefault(run_name(run), []).append(origin)
    return found


def run_name(run: ComparedRun | Record) -> tuple[str, str, str, int]:
    """Return what names a run within its suite."""
    return run.experiment, run.method, run.classifier, run.seed


def causes(record: Record, reference: ReferenceRun, origins: Iterable[Origin]) -> list[str]:
    """Say what differs from the reference: settings, data, code, versions, BLAS, processor, threads.

    Of several places where the run was identical, the one with the fewest differences counts.
    """
    settings = []
    if record.run_key != reference.run_key:
        settings = [f"settings: run key {record.run_key}, {reference.run_key} in the reference"]
    compared = [_differences(record, origin) for origin in origins]
    return settings + (min(compared, key=len) if compared else [UNKNOWN])


def _differences(record: Record, origin: Origin) -> list[str]:
    here, there = record.environment, origin.environment
    data = record.dataset_info.sha256 if record.dataset_info else None
    pairs: list[tuple[str, object, object]] = [("data", data, origin.dataset_sha256)]
    if here is not None:
        names = sorted(here.packages.keys() | there.packages.keys())
        pairs += [
            ("code", here.code_hash, there.code_hash),
            ("Python", here.python, there.python),
            *((name, here.packages.get(name), there.packages.get(name)) for name in names),
            ("BLAS", here.blas, there.blas),
            ("processor", here.cpu, there.cpu),
            ("platform", here.platform, there.platform),
            ("threads", here.threads, there.threads),
        ]
    return [
        f"{what}: {_short(one)}, {_short(other)} in the reference"
        for what, one, other in pairs
        if one != other
    ]


def _short(value: object) -> str:
    """Write a value; of a digest the first digits."""
    text = "unknown" if value is None else str(value)
    return text[:16] if len(text) == 64 else text
