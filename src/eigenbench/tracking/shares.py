"""An import in several processes: what takes its time is Python code, MLflow's and that of the figures."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from eigenbench.tracking.entries import Entry, ImportSummary
from eigenbench.tracking.errors import TrackingUnavailable

#: Records by suite.
Share = dict[str, list[Entry]]

# Fewer records than these are imported before another process has begun.
_RECORDS_OF_A_SHARE = 40

# What a helper inherits cannot be pickled: the lock of the import, which is free when all of them have ended.
_PROCESSES = multiprocessing.get_context("fork")


def shares_of(entries: Mapping[str, Sequence[Entry]], processes: int) -> list[Share]:
    """Share records among processes by whole experiments, the largest first, each to who has the least.

    Parameters
    ----------
    entries : mapping of str to sequence of Entry
        The records by suite.
    processes : int
        The most shares; where there are few records, they are fewer.

    Returns
    -------
    list of dict
        At least one share.
    """
    total = sum(map(len, entries.values()))
    shares: list[Share] = [{} for _ in range(max(1, min(processes, total // _RECORDS_OF_A_SHARE)))]
    by_experiment: dict[tuple[str, str], list[Entry]] = {}
    for suite, of_suite in entries.items():
        for entry in of_suite:
            by_experiment.setdefault((suite, entry.group.experiment), []).append(entry)
    for (suite, _), found in sorted(by_experiment.items(), key=lambda item: -len(item[1])):
        least = min(shares, key=size_of)
        least[suite] = [*least.get(suite, []), *found]
    return [share for share in shares if share] or [{}]


def size_of(share: Mapping[str, Sequence[Entry]]) -> int:
    """Return the number of records of a share."""
    return sum(map(len, share.values()))


@dataclass(frozen=True)
class Helper:
    """A process that imports a share."""

    share: Share
    process: multiprocessing.process.BaseProcess
    answers: Connection

    def result(self) -> ImportSummary:
        """Wait for what it did.

        Raises
        ------
        TrackingUnavailable
            If it failed, or has ended without an answer.
        """
        try:
            answer = self.answers.recv()
        except EOFError:
            self.process.join()
            raise TrackingUnavailable(
                f"a process of the import has ended with exit code {self.process.exitcode}; run it again"
            ) from None
        if isinstance(answer, Exception):
            raise answer
        found: ImportSummary = answer
        return found


@contextlib.contextmanager
def helpers(shares: Sequence[Share], work: Callable[[Share], ImportSummary]) -> Iterator[list[Helper]]:
    """Start a process for each share; when they are not waited for, they are stopped.

    To stop one is as safe as to kill an import: the next repeats what was not finished.
    """
    started = []
    try:
        for share in shares:
            receiving, sending = _PROCESSES.Pipe(duplex=False)
            process = _PROCESSES.Process(target=_answer, args=(sending, work, share), daemon=True)
            process.start()
            sending.close()
            started.append(Helper(share, process, receiving))
        yield started
    finally:
        for helper in started:
            helper.process.terminate()
            helper.process.join()
            helper.answers.close()


class Watch:
    """Takes the place of a progress bar in a helper: ends it as soon as the import that began it is gone."""

    def __init__(self) -> None:
        self._parent = os.getppid()

    def update(self) -> None:
        """Note that a record is done."""
        if os.getppid() != self._parent:
            sys.exit("the import has ended")


def _answer(sending: Connection, work: Callable[[Share], ImportSummary], share: Share) -> None:
    try:
        answer: ImportSummary | Exception = work(share)
    except Exception as error:
        answer = error
    sending.send(answer)
