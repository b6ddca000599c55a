"""The pieces of work behind a run: tasks, the units that jobs execute, and the cells that need them.

A *task* is one moment pass, one embedding fit, one classifier fit, one evaluation or one selection.
Its key is a hash of everything that determines its result, so equal work is done once, paths stay
short, and a changed suite never meets stale results. A *unit* is what one job executes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from eigenbench.experiments.suite import StepSpec

STAGES = ("moments", "embed", "train", "evaluate", "select", "measure")


def content_key(content: Any, length: int = 16) -> str:
    """Hash JSON-like content to hexadecimal digits, independent of key order."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:length]


@dataclass(frozen=True)
class Task:
    """One piece of work with a content key.

    Attributes
    ----------
    stage : str
        One of ``STAGES``.
    spec : dict
        Everything that determines the result, JSON-like.
    needs : tuple of Task
        The tasks whose artifacts it reads.
    """

    stage: str
    key: str
    spec: dict[str, Any] = field(compare=False, hash=False)
    needs: tuple[Task, ...] = field(compare=False, hash=False)

    @classmethod
    def make(cls, stage: str, spec: dict[str, Any], needs: Iterable[Task] = ()) -> Task:
        """Create a task; its key covers the stage, the spec and the keys of what it needs."""
        needs = tuple(needs)
        return cls(stage, content_key([stage, spec, [task.key for task in needs]]), spec, needs)


@dataclass(frozen=True)
class Unit:
    """The tasks that one job executes, all of one stage and on the same datasets."""

    stage: str
    id: str
    datasets: tuple[str, ...]
    label: str
    packed: bool
    tasks: tuple[Task, ...] = field(compare=False, hash=False)


@dataclass(frozen=True)
class Cell:
    """One run: suite × experiment × method × classifier × seed, and the tasks that make it.

    ``final`` is the task that measures: an evaluation of what ``embed`` and ``train`` made, or the whole
    measurement of a protocol, which has neither of these.
    """

    suite: str
    experiment: str
    dataset: str
    method: str
    classifier: str
    seed: int
    deterministic: bool
    steps: tuple[StepSpec, ...] = field(compare=False)
    final: Task = field(compare=False)
    embed: Task | None = field(default=None, compare=False)
    train: Task | None = field(default=None, compare=False)
    select: Task | None = field(default=None, compare=False)

    @cached_property
    def run_key(self) -> str:
        """The content key of the run: what the MLflow tag and the record's file name hold."""
        return content_key([self.dataset, self.method, self.classifier, self.seed, self.final.key])

    @property
    def label(self) -> str:
        """A short name for people."""
        names = [self.method, self.classifier] if self.train else [self.method]
        return " · ".join([self.dataset, *names, f"seed {self.seed}"])
