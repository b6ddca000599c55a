"""Small runs of an experiment share jobs, because starting a job costs more than a fit."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from eigenbench.bench.code_hash import code_hash, own_code_hash
from eigenbench.bench.jobs.job_spec import JobSpec, content_key
from eigenbench.bench.jobs.plan import MethodPlan, SuitePlan

#: Estimated work of the methods that share a job, in seconds.
_PACK_SECONDS = 20


@dataclass(frozen=True)
class SharedJob:
    """A job that makes all runs of methods of an experiment with the same seeds: a rule without wildcards.

    Methods whose seeds have a job each stand here with one of them.
    """

    name: str
    methods: tuple[MethodPlan, ...]

    @property
    def message(self) -> str:
        """The description of the job, for those who watch it."""
        first = self.methods[0]
        names = ", ".join(method.spec.method for method in self.methods)
        seed = f", seed {first.seeds[0]}" if first.granularity == "seed" else ""
        return f"{first.verb} {first.experiment}: {names}{seed}"

    @property
    def seconds(self) -> float:
        """The estimated work."""
        return sum(method.seconds for method in self.methods)

    @property
    def files(self) -> list[str]:
        """The outputs, below the folder of the results."""
        return [file for method in self.methods for file in method.files]


def shared_jobs(methods: Iterable[MethodPlan], rules: Iterable[str] = ()) -> list[SharedJob]:
    """Share the runs of small methods out among jobs; no job gets a name of other ``rules``."""
    experiments: dict[str, list[MethodPlan]] = {}
    for method in (method for method in methods if method.shares_jobs):
        experiments.setdefault(method.experiment, []).extend(method.parts)
    taken = set(rules)
    jobs: list[SharedJob] = []
    for experiment, found in experiments.items():
        first = re.sub(r"\W", "_", f"{found[0].verb}_{experiment}")
        names = itertools.chain([first], (f"{first}_{number}" for number in itertools.count(2)))
        for pack in _packed(found):
            name = next(name for name in names if name not in taken)
            taken.add(name)
            jobs.append(SharedJob(name, tuple(pack)))
    return jobs


def job_code(verb: str, *specs: JobSpec) -> str:
    """Return the hash of the code that a job runs: its module, its components and its protocol."""
    modules = [f"eigenbench.bench.jobs.{verb}"]
    own: set[tuple[str, str]] = set()
    for spec in specs:
        modules += [component.module for component in spec.components.values()]
        modules += [spec.protocol] if spec.protocol else []
        own |= spec.own_modules
    found = code_hash(modules)
    return content_key([found, *(own_code_hash(*place) for place in sorted(own))]) if own else found


def current_code(plan: SuitePlan) -> dict[str, set[str]]:
    """Return the hashes of the installed code of all jobs that can make a run of a suite, by its key."""
    found: dict[str, set[str]] = {run.key: set() for run in plan.runs}
    packs = [job.methods for job in shared_jobs(plan.methods)]
    for methods in [*packs, *((method,) for method in plan.methods)]:
        code = job_code(methods[0].verb, *(method.spec for method in methods))
        for run in (run for method in methods for run in method.runs):
            found[run.key].add(code)
    for method in (method for method in plan.methods if not method.spec.protocol):
        for run in method.runs:
            found[run.key].add(job_code("train", method.spec.of_run(run.classifier)))
    return found


def _packed(methods: Iterable[MethodPlan]) -> list[list[MethodPlan]]:
    """Pack methods that run with the same seeds, up to so many seconds of estimated work."""
    packs: dict[tuple[int, ...], list[list[MethodPlan]]] = {}
    for method in methods:
        found = packs.setdefault(method.seeds, [[]])
        if found[-1] and sum(other.seconds for other in found[-1]) + method.seconds > _PACK_SECONDS:
            found.append([])
        found[-1].append(method)
    return [pack for found in packs.values() for pack in found]
