"""Before the jobs are planned: remove what lies in the output folders and is not a valid result.

Snakemake makes again what is missing. So a record that was cut or edited, a receipt of a store that is gone,
and prepared data that changed, are removed, by name, and the same command repairs them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from eigenbench.atomic_files import remove_unfinished
from eigenbench.bench.jobs.guard import RunLock
from eigenbench.bench.jobs.workflow import Workflow
from eigenbench.bench.records.record import seal_is_intact
from eigenbench.datasets.up_to_date import is_current

_REFUSED = ".refused"


def remove_invalid(
    workflow: Workflow, lock: RunLock, receipt_is_current: Callable[[Path], bool]
) -> list[str]:
    """Remove what is not valid and return what was done, a line each.

    What killed jobs had begun to write goes too, without a line: it was never a result.
    While another run works in the folder nothing is removed: what it writes just now looks incomplete.

    Raises
    ------
    RuntimeError
        If the results folder was written by an earlier version of eigenbench.
    """
    results, data = Path(workflow.results), Path(workflow.data)
    if (results / "artifacts").is_dir() or _has_old_records(results / "records"):
        raise RuntimeError(
            f"{results}: written by an earlier version of eigenbench, whose files this one does not read; "
            "move it away or delete it, then run the same command again"
        )
    if not lock.is_free():
        return []
    for folder in (results, Path(workflow.reports)):
        remove_unfinished(folder)
    return [*_records(results), *_receipts(results, receipt_is_current), *_datasets(workflow, data)]


def _has_old_records(folder: Path) -> bool:
    return any(re.fullmatch(r"[0-9a-f]{16}\.json", path.name) for path in folder.glob("*/*.json"))


def _records(results: Path) -> Iterator[str]:
    """Set damaged records aside, and remove models that are not as large as their records say."""
    for record in results.glob("*/*/*/seed-*/**/record.json"):
        if not seal_is_intact(record):
            record.replace(f"{record}{_REFUSED}")
            yield f"{record}: damaged or changed after it was written; set aside, and made again"
        elif (wrong := _wrong_model(record)) is not None:
            wrong.unlink(missing_ok=True)
            yield f"{wrong}: not as large as its record says; removed, and made again"


def _wrong_model(record: Path) -> Path | None:
    size = re.search(rb'"bytes": (\d+)', record.read_bytes())
    model = record.with_name("model.skops")
    if size and model.exists() and model.stat().st_size != int(size[1]):
        return model
    return None


def _receipts(results: Path, receipt_is_current: Callable[[Path], bool]) -> Iterator[str]:
    for receipt in [*results.glob("*/tracked.json"), *results.glob("*/*/tracked.json")]:
        if not receipt_is_current(receipt):
            receipt.unlink()
            yield f"{receipt}: its MLflow store is gone or another one; imported again"


def _datasets(workflow: Workflow, data: Path) -> Iterator[str]:
    for state in (data / "prepared").glob("*.json"):
        name = state.stem
        if name not in workflow.catalogue.datasets:
            continue
        try:
            status = json.loads(state.read_bytes())["status"]
        except (OSError, ValueError, KeyError, TypeError):
            status = None
        if status == "ok" and is_current(name, data_dir=data, catalogue=workflow.catalogue):
            continue
        for path in (state, data / "raw" / f"{name}.json"):
            path.unlink(missing_ok=True)
        if status == "ok":
            shutil.rmtree(data / "prepared" / name, ignore_errors=True)
            yield f"{name}: its prepared data or its source files changed; prepared again"
