"""How long the jobs of a workflow may take, for those who watch it: recorded where they ran before."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from eigenbench.bench.jobs.cost import fits_of, seconds_of_fit
from eigenbench.bench.jobs.workflow import Workflow
from eigenbench.bench.records.runs import NO_CLASSIFIER

#: To start a job, and to do what is no fit.
_START = 2.0
_COSTS = ("fit_seconds", "train_seconds", "predict_seconds")


def expected_seconds(workflow: Workflow, outputs: Iterable[str]) -> float:
    """Return how long a job may take.

    Parameters
    ----------
    workflow : Workflow
        The suites.
    outputs : iterable of str
        The files that the job makes. Where a record is there already, it says how long the run took; other
        fits are estimated, as by `eigenbench.bench.jobs.cost`.
    """
    paths = [Path(output) for output in outputs]
    return _START + sum(_seconds_of(workflow, path) for path in paths)


def suites_of(workflow: Workflow, outputs: Iterable[str]) -> list[str]:
    """Return the suites that some files belong to, in the order of their names."""
    results = Path(workflow.results)
    found = {path.parts[len(results.parts)] for path in map(Path, outputs) if path.is_relative_to(results)}
    return sorted(found & workflow.suite_paths.keys())


def _seconds_of(workflow: Workflow, path: Path) -> float:
    results = Path(workflow.results)
    if path.suffix != ".json" or not path.is_relative_to(results):
        return 0.0
    parts = path.relative_to(results).parts
    if len(parts) < 4:  # a receipt of an import
        return 0.0
    suite, experiment, method, *rest = parts
    plan = workflow.method(f"{suite}/{experiment}/{method}")
    spec = plan.spec
    if path.name == "record.json" and (recorded := _recorded(path)) is not None:
        return recorded
    settings = workflow.suites[suite].suite.experiments[experiment].protocol_settings
    entry = workflow.catalogue.entry(spec.dataset)
    values = settings.work(sum(entry.expect.rows.values()), entry.expect.features) if settings else None
    one = seconds_of_fit(spec, entry, values)
    classifier = rest[1] if len(rest) > 2 else NO_CLASSIFIER
    shared = plan.share != "fit" and path.name == "record.json" and classifier in spec.classifiers
    return one * fits_of(spec, classifier) if shared else one


def _recorded(path: Path) -> float | None:
    try:
        record = json.loads(path.read_bytes())
        found = [record[name] for name in _COSTS if record[name] is not None]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return float(sum(found)) if found else None
