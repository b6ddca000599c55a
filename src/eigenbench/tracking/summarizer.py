"""After the records: which summaries are out of date, and what the suite's page shows."""

from __future__ import annotations

import gc
import hashlib
import json

from eigenbench.tracking.best_models import BestModels
from eigenbench.tracking.suite_import import SuiteImport
from eigenbench.tracking.suite_notes import suite_note
from eigenbench.tracking.summary_runs import is_current
from eigenbench.tracking.views import view_tags

# Part of every fingerprint: raise it when summaries show something else of the same records.
_FORM = 4


def summarize_import(done: SuiteImport) -> None:
    """Bring the summaries of an import's experiments, and the page of its suite, up to date."""
    models = BestModels(done)
    # statsmodels collects garbage in every test; so it looks only at what is new.
    gc.freeze()
    try:
        for experiment in done.experiments:
            _bring_up_to_date(done, experiment, models)
    finally:
        gc.unfreeze()
    specs = done.suite.experiments if done.suite else {}
    compares = any(number.method for spec in specs.values() for number in spec.published)
    tags = view_tags(specs or done.experiments, compares)
    if done.suite:
        tags["mlflow.note.content"] = suite_note(done.suite, done.settings.reports_dir)
    there = done.client.get_experiment(done.experiment_id).tags
    for name, value in tags.items():
        if there.get(name) != value:
            done.client.set_experiment_tag(done.experiment_id, name, value)


def _bring_up_to_date(done: SuiteImport, name: str, models: BestModels) -> None:
    """Write the summaries of an experiment if they show something else, and note where they are."""
    seeds = done.known.seeds(name)
    spec = done.suite.experiments.get(name) if done.suite else None
    shown = [
        _FORM,
        sorted(run.record_sha256 or "" for run in seeds),
        spec.model_dump(mode="json") if spec else None,
    ]
    fingerprint = hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:32]
    if done.settings.all_models or not _is_current(done, name, fingerprint):
        # What computes them takes longer to import than an import without news.
        from eigenbench.tracking.summary_writer import SummaryWriter

        SummaryWriter(done, name, models, seeds, spec, fingerprint).write()
    for group, found in done.known.parents(name).items():
        if found:
            done.summary.summary_ids["/".join([done.name, *group])] = found[0].info.run_id


def _is_current(done: SuiteImport, name: str, fingerprint: str) -> bool:
    parents, seeds = done.known.parents(name), done.known.seeds(name)
    run_ids = {group: found[0].info.run_id for group, found in parents.items() if found}
    return (
        all(is_current(found, fingerprint) for found in parents.values())
        and is_current(done.known.overviews.get(name, []), fingerprint)
        and run_ids.keys() == {run.group for run in seeds}
        and all(run.parent == run_ids[run.group] for run in seeds)
    )
