"""Rounds of measurement of checkouts, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(PROJECT), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


@contextmanager
def checkout(name: str) -> Iterator[Path]:
    """Give the folder of a checkout: the one that is named, or a new one of a commit."""
    if Path(name).is_dir():
        yield Path(name).absolute()
        return
    with TemporaryDirectory(prefix="regress-") as scratch:
        folder = Path(scratch) / "checkout"
        git("worktree", "add", "--quiet", "--detach", str(folder), name)
        try:
            yield folder
        finally:
            git("worktree", "remove", "--force", str(folder))


def measured(checkouts: Sequence[Path], n_rounds: int, names: Sequence[str]) -> list[dict[str, list[float]]]:
    """Measure checkouts in turn, round after round, and every other round in the opposite order.

    What else the machine does then falls on all of them alike. A checkout's values are kept of the rounds
    in which it had them all.
    """
    found: list[dict[str, list[float]]] = [{} for _ in checkouts]
    for number in range(n_rounds):
        order = range(len(checkouts))
        for place in order if number % 2 == 0 else reversed(order):
            for quantity, value in _round(checkouts[place], number, names).items():
                found[place].setdefault(quantity, []).append(value)
        print(f"round {number + 1} of {n_rounds}", file=sys.stderr, flush=True)
    return [{name: values for name, values in one.items() if len(values) == n_rounds} for one in found]


def _round(folder: Path, seed: int, names: Sequence[str]) -> dict[str, float]:
    """Measure a checkout once, by this folder's benchmarks, so that old commits are measured by them too."""
    done = subprocess.run(
        [sys.executable, str(HERE / "measures.py"), str(seed), *names],
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{folder}: the measurement ended with status {done.returncode}.")
    found: dict[str, float] = json.loads(done.stdout)
    return found
