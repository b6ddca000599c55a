"""Measure a method with a protocol, once for each of some seeds."""

from __future__ import annotations

import logging
from typing import Any

from eigenbench.bench.jobs.job_context import JobContext, finite_metrics, now, write_run_record
from eigenbench.bench.jobs.pipelines import build_pipeline
from eigenbench.bench.jobs.supervision import Report
from eigenbench.bench.protocols.base import Trial, settings_class
from eigenbench.bench.records.record import read_record
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.bench.suites.steps import flat_params

logger = logging.getLogger(__name__)


def run(context: JobContext, seed: int) -> None:
    """Run the protocol in a process of its own and write the record of the run."""
    spec = context.spec
    started = now()
    report = context.obstacle()
    if report is None:
        protocol = spec.load_protocol()
        logger.info("measure %s, seed %d", spec.method, seed)
        report = context.supervisor.run("measure", lambda: _measured(context, protocol, seed))
    write_run_record(context, NO_CLASSIFIER, seed, [report], started)


def _measured(context: JobContext, protocol: Any, seed: int) -> Report:
    spec = context.spec
    trial = Trial(
        settings=settings_class(protocol).model_validate(spec.settings),
        build=lambda **last: build_pipeline(spec, seed, last),
        load=spec.load,
        data=lambda name=None, seed=seed: context.open(seed, name),
        seed=seed,
        metrics=lambda seed: read_record(context.folder(seed) / "record.json").metrics,
    )
    outcome = protocol.measure(trial)
    measured = {name: value for name, value in vars(outcome).items() if value is not None}
    return measured | {
        "metrics": finite_metrics(outcome.metrics),
        "exhibits": [exhibit.model_dump(mode="json") for exhibit in outcome.exhibits],
        "params": flat_params(spec.steps) | {"steps": " → ".join(step.component for step in spec.steps)},
    }
