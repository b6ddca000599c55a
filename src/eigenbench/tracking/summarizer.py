"""After the records: which summaries are out of date, and what the suite's page shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from eigenbench.bench.suites.suite import Suite
from eigenbench.tracking.best_models import BestModels
from eigenbench.tracking.known import Known
from eigenbench.tracking.suite_import import SuiteImport
from eigenbench.tracking.suite_notes import suite_note
from eigenbench.tracking.summary_runs import is_current
from eigenbench.tracking.views import view_tags

# Part of every fingerprint: raise it when summaries show something else of the same records.
_FORM = 4


def summarize_import(done: SuiteImport) -> None:
    """Bring the summaries of an import's experiments, and the page of its suite, up to date."""
    models = BestModels(done)
    for experiment in done.experiments:
        _bring_up_to_date(done, experiment, models)
    there = done.client.get_experiment(done.experiment_id).tags
    for name, value in page_tags(done.suite, done.experiments, done.settings.reports_dir).items():
        if there.get(name) != value:
            done.client.set_experiment_tag(done.experiment_id, name, value)


def page_tags(suite: Suite | None, experiments: Iterable[str], reports_dir: Path) -> dict[str, str]:
    """Return what the page of a suite shows: its description, and the saved views of its experiments."""
    specs = suite.experiments if suite else {}
    compares = any(number.method for spec in specs.values() for number in spec.published)
    tags = view_tags(specs or experiments, compares)
    if suite:
        tags["mlflow.note.content"] = suite_note(suite, reports_dir)
    return tags


def fingerprint_of(known: Known, name: str, suite: Suite | None) -> str:
    """Return the fingerprint of what the summaries of an experiment are to show."""
    spec = suite.experiments.get(name) if suite else None
    shown = [
        _FORM,
        sorted(run.record_sha256 or "" for run in known.seeds(name)),
        spec.model_dump(mode="json") if spec else None,
    ]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:32]


def are_current(known: Known, name: str, fingerprint: str) -> bool:
    """Return whether the summaries of an experiment show what they are to show, each above its seeds."""
    parents, seeds = known.parents(name), known.seeds(name)
    run_ids = {group: found[0].info.run_id for group, found in parents.items() if found}
    return (
        all(is_current(found, fingerprint) for found in parents.values())
        and is_current(known.overviews.get(name, []), fingerprint)
        and run_ids.keys() == {run.group for run in seeds}
        and all(run.parent == run_ids[run.group] for run in seeds)
    )


def _bring_up_to_date(done: SuiteImport, name: str, models: BestModels) -> None:
    """Write the summaries of an experiment if they show something else, and note where they are."""
    fingerprint = fingerprint_of(done.known, name, done.suite)
    if done.settings.all_models or not are_current(done.known, name, fingerprint):
        # What computes them takes longer to import than an import without news.
        from eigenbench.tracking.summary_writer import SummaryWriter

        SummaryWriter(done, name, models, fingerprint).write()
    done.summary.summary_ids |= done.known.summary_ids(done.name, name)
