"""Small runs of an experiment share jobs, because starting a job costs more than a fit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from eigenbench.bench.jobs.cost import PACK_SECONDS, SINGLE_SECONDS, TURN_SECONDS, fits_of
from eigenbench.bench.jobs.plan import MethodPlan


@dataclass(frozen=True)
class SharedJobs:
    """Runs of an experiment of which a job makes several: a rule of the workflow.

    Attributes
    ----------
    name : str
        Of the rule.
    verb : {"fit", "measure"}
        The module that the job runs.
    methods : tuple of str
        The methods whose runs one job makes; where `seeds` is empty, those that each have a job for a seed.
    seeds : tuple of int
        What a job of whole methods runs each of them with.
    outputs : tuple of str
        Paths, with the wildcards ``{method}`` and ``{seed}`` where a job makes one seed of one method.
    log, message : str
        With the same wildcards.
    priority : int
        Of jobs that could start, the one with the greatest does.
    """

    name: str
    verb: str
    suite: str
    experiment: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    outputs: tuple[str, ...]
    log: str
    message: str
    priority: int = 0


@dataclass(frozen=True)
class _Pack:
    """Methods of an experiment, and the seeds that one job runs them with; none for a job for each."""

    methods: Sequence[MethodPlan]
    seeds: tuple[int, ...]
    priority: int = 0


def in_rule(name: str) -> str:
    """Return a name as it stands in that of a rule."""
    return re.sub(r"\W", "_", name)


def shared_jobs(methods: Iterable[MethodPlan], results: str, *, in_turn: bool = False) -> list[SharedJobs]:
    """Share the runs of methods out among jobs.

    Parameters
    ----------
    methods : iterable of MethodPlan
        Of all suites, those whose fits are no jobs of their own.
    results : str
        The folder of the results.
    in_turn : bool, default=False
        Run all methods of an experiment with one seed before the next, the cheap ones first, so that whenever
        the work is stopped they can be compared on the same seeds. No fit is then a job of its own, and every
        job has one core: one of several would wait until so many are free at once, and be overtaken by all
        that need one.
    """
    names: Counter[str] = Counter()
    packs = _in_turn(methods) if in_turn else _by_method(methods)
    return [_jobs(pack, results, names) for pack in packs]


def _by_method(methods: Iterable[MethodPlan]) -> Iterator[_Pack]:
    """Pack whole methods, or the seeds of methods with the same outputs."""
    found: dict[tuple[str, str, tuple[int, ...], tuple[str, ...]], list[list[MethodPlan]]] = {}
    for method in methods:
        spec = method.spec
        if method.share == "method":
            packs = found.setdefault((spec.suite, spec.experiment, method.seeds, ()), [[]])
            _add(packs, method, method.seconds, sum(other.seconds for other in packs[-1]), PACK_SECONDS)
        elif method.share == "seed":
            files = (*method.embeddings("{seed}"), *method.results("{seed}"))
            found.setdefault((spec.suite, spec.experiment, (), files), [[]])[0].append(method)
    for (_, _, seeds, _), packs in found.items():
        yield from (_Pack(pack, seeds) for pack in packs if pack)


def _in_turn(methods: Iterable[MethodPlan]) -> Iterator[_Pack]:
    """Pack the methods of each seed; all seeds, where all of it is soon done."""
    experiments: dict[tuple[str, str, tuple[int, ...]], list[MethodPlan]] = {}
    for method in methods:
        experiments.setdefault((method.spec.suite, method.spec.experiment, method.seeds), []).append(method)
    for (_, _, seeds), found in experiments.items():
        found.sort(key=_seconds_of_fit)
        if sum(method.seconds for method in found) <= SINGLE_SECONDS:
            yield _Pack(found, seeds)
            continue
        packs: list[list[MethodPlan]] = [[]]
        for method in found:
            of_seed = [other.seconds / len(seeds) for other in packs[-1]]
            _add(packs, method, method.seconds / len(seeds), sum(of_seed), TURN_SECONDS)
        turns = [(pack, seed) for seed in seeds for pack in packs if pack]
        for place, (pack, seed) in enumerate(turns):
            yield _Pack(pack, (seed,), -place)


def _add(
    packs: list[list[MethodPlan]], method: MethodPlan, seconds: float, packed: float, most: float
) -> None:
    if packed + seconds > most:
        packs.append([])
    packs[-1].append(method)


def _seconds_of_fit(method: MethodPlan) -> float:
    fits = sum(fits_of(method.spec, name) for name in method.spec.classifiers)
    return method.seconds / len(method.seeds) / max(1, fits)


def _jobs(pack: _Pack, results: str, names: Counter[str]) -> SharedJobs:
    methods, seeds, spec = pack.methods, pack.seeds, pack.methods[0].spec
    experiment = f"{spec.suite}/{spec.experiment}"
    verb = "measure" if spec.protocol else "fit"
    name = in_rule(f"{'measure' if spec.protocol else 'train'}_{experiment}")
    names[name] += 1
    name = name if names[name] == 1 else f"{name}_{names[name]}"
    folders: list[tuple[MethodPlan, str, int | str]]
    if seeds:
        folders = [(method, method.folder, seed) for method in methods for seed in seeds]
        log = f"logs/{experiment}/{name}.log"
        message = f"{experiment}: {', '.join(method.spec.method for method in methods)}"
        message += f", seed {seeds[0]}" if pack.seeds != methods[0].seeds else ""
    else:
        folders = [(methods[0], f"{experiment}/{{method}}", "{seed}")]
        log = f"logs/{experiment}/{{method}}/seed-{{seed}}/{verb}.log"
        message = f"{experiment}/{{wildcards.method}}/seed-{{wildcards.seed}}"
    return SharedJobs(
        name=name,
        verb=verb,
        suite=spec.suite,
        experiment=spec.experiment,
        methods=tuple(method.spec.method for method in methods),
        seeds=seeds,
        outputs=tuple(
            f"{results}/{folder}/{file}"
            for method, folder, seed in folders
            for file in (*method.embeddings(seed), *method.results(seed))
        ),
        log=log,
        message=message,
        priority=pack.priority,
    )
