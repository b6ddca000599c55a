"""Learning curves of doubly stochastic gradients on a stream of examples, for any random feature map."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from eigenbench.classifiers.doubly_stochastic import DoublyStochasticLogistic
from eigenbench.datasets.deformed_digits import deformed_digits
from eigenbench.protocols.base import Outcome, Trial
from eigenbench.protocols.settings.streaming import Settings

_Batch = tuple[Any, NDArray[np.int64]]


def measure(trial: Trial) -> Outcome:
    """Learn from the stream, each example once as it comes, and measure the test error along the way.

    The last step of the method is the random map of the learner's blocks.

    Returns
    -------
    Outcome
        ``test_error_at_N`` after N examples, and ``test_error``, the last of them;
        ``progressive_error``, the share of the examples since the last checkpoint but one that were
        misclassified before they were learned from; ``examples_per_second`` learned, without the time to
        make them and to test. The errors are also curves over the examples seen.
    """
    settings: Settings = trial.settings
    dataset = trial.data()
    stream = _Stream(_batches(dataset.X_train, dataset.y_train, settings, trial.seed))
    pipeline = trial.build()
    preparation = pipeline[:-1]
    if len(preparation):
        preparation.fit(stream.peek(settings.preparation_rows))
    learner = DoublyStochasticLogistic(
        pipeline[-1],
        random_state=trial.seed,
        **settings.model_dump(exclude={"stream", "checkpoints", "preparation_rows"}),
    )
    X_test = preparation.transform(dataset.X_test) if len(preparation) else dataset.X_test
    classes = np.arange(len(dataset.classes))
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in ("test_error", "progressive_error")}
    learned = tested = 0.0
    seen = steps_before = 0
    for checkpoint in settings.checkpoints:
        while seen < checkpoint:
            X, y = stream.next()
            started = time.perf_counter()
            learner.partial_fit(preparation.transform(X) if len(preparation) else X, y, classes=classes)
            learned += time.perf_counter() - started
            seen += len(y)
        started = time.perf_counter()
        error = float(np.mean(learner.predict(X_test) != dataset.y_test))
        tested = time.perf_counter() - started
        curves["test_error"].append((checkpoint, error))
        progressive = float(np.mean(learner.error_curve_[steps_before:]))
        curves["progressive_error"].append((checkpoint, progressive))
        steps_before = learner.t_
    metrics = {f"test_error_at_{seen}": error for seen, error in curves["test_error"]}
    metrics |= {
        "test_error": curves["test_error"][-1][1],
        "progressive_error": curves["progressive_error"][-1][1],
        "examples_per_second": seen / learned,
    }
    return Outcome(
        metrics,
        {f"{name}_by_examples_seen": curve for name, curve in curves.items()},
        dimension=len(learner.coefs_) * learner.block_size,
        fit_seconds=learned,
        predict_seconds=tested,
    )


class _Stream:
    """Batches that can be looked at before they are taken."""

    def __init__(self, batches: Iterator[_Batch]) -> None:
        self._batches = batches
        self._waiting: list[_Batch] = []

    def peek(self, n_rows: int) -> Any:
        """Return at least the next ``n_rows`` rows, which stay in the stream."""
        while sum(X.shape[0] for X, _ in self._waiting) < n_rows:
            self._waiting.append(next(self._batches))
        rows = [X for X, _ in self._waiting]
        return sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)

    def next(self) -> _Batch:
        """Take the next batch."""
        return self._waiting.pop(0) if self._waiting else next(self._batches)


def _batches(X: Any, y: NDArray[np.int64], settings: Settings, seed: int) -> Iterator[_Batch]:
    n_examples = settings.checkpoints[-1]
    if settings.stream == "deformed":
        yield from deformed_digits(X, y, n=n_examples, block=settings.batch_size, seed=seed)
        return
    generator = np.random.default_rng([seed, 0x57E4])
    n_passes = -(-n_examples // X.shape[0])
    order = np.concatenate([generator.permutation(X.shape[0]) for _ in range(n_passes)])
    for start in range(0, n_examples, settings.batch_size):
        rows = order[start : start + settings.batch_size]
        yield X[rows], y[rows]
