"""Learning curves of doubly stochastic gradients on a stream of examples, for any random feature map."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from eigenbench.bench.protocols.base import Outcome, ProtocolSettings, RunSizes, Trial, at_sizes


class StreamingSettings(ProtocolSettings):
    """The stream, and the parameters of the learner.

    ``stream`` is ``deformed`` (deformed copies of the training images, made as they are read: none comes
    twice) or ``rows`` (the training rows, in a new random order for each pass). The test error is measured
    after each number of examples in ``checkpoints``; the last one ends the stream. The steps of a method
    before its last are fitted on the first ``preparation_rows`` examples.
    """

    headline: ClassVar[str] = "test_error"

    stream: Literal["deformed", "rows"] = "rows"
    checkpoints: RunSizes = (4096, 16384, 65536, 262144, 1310720)
    preparation_rows: int = Field(default=16384, ge=1)
    n_components: int = Field(default=2048, ge=1)
    block_size: int = Field(default=256, ge=1)
    batch_size: int = Field(default=1024, ge=1)
    step_size: float = Field(default=1.0, gt=0, lt=2)
    halving: float = Field(default=10.0, gt=0)
    damping: float = Field(default=0.1, gt=0)
    alpha: float = Field(default=1e-6, ge=0)

    @model_validator(mode="after")
    def _whole_batches(self) -> StreamingSettings:
        if not self.checkpoints:
            raise ValueError("'checkpoints' needs at least one number of examples")
        if any(n % self.batch_size for n in self.checkpoints):
            raise ValueError(f"checkpoints={self.checkpoints}: not multiples of batch_size={self.batch_size}")
        return self

    def metrics(self) -> tuple[str, ...]:
        """Return the names of errors, also after each checkpoint, and of the rate."""
        return (
            "test_error",
            *at_sizes(("test_error",), self.checkpoints),
            "progressive_error",
            "examples_per_second",
        )


_Batch = tuple[Any, NDArray[np.int64]]


def measure(trial: Trial) -> Outcome:
    """Learn from the stream, each example once as it comes, and measure the test error along the way.

    The last step of the method is the random map of the learner's blocks.

    ``test_error_at_N`` after N examples, and ``test_error``, the last of them; ``progressive_error``, the
    share of the examples since the last checkpoint but one that were misclassified before they were learned
    from; ``examples_per_second`` learned, without the time to make them and to test. The errors are also
    curves over the examples seen.
    """
    from scipy.sparse import issparse, vstack

    from eigenbench.methods.classifiers.doubly_stochastic import DoublyStochasticLogistic

    settings: StreamingSettings = trial.settings
    dataset = trial.data()
    stream = _batches(dataset.X_train, dataset.y_train, settings, trial.seed)
    pipeline = trial.build()
    preparation = pipeline[:-1]
    if len(preparation):
        first: list[_Batch] = []
        needed = min(settings.preparation_rows, settings.checkpoints[-1])
        while sum(X.shape[0] for X, _ in first) < needed:
            first.append(next(stream))
        rows = [X for X, _ in first]
        preparation.fit(vstack(rows, format="csr") if issparse(rows[0]) else np.concatenate(rows))
        stream = chain(first, stream)
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
            X, y = next(stream)
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


def _batches(X: Any, y: NDArray[np.int64], settings: StreamingSettings, seed: int) -> Iterator[_Batch]:
    n_examples = settings.checkpoints[-1]
    if settings.stream == "deformed":
        from eigenbench.datasets.deformed_digits import deformed_digits

        yield from deformed_digits(X, y, n=n_examples, block=settings.batch_size, seed=seed)
        return
    generator = np.random.default_rng([seed, 0x57E4])
    n_passes = -(-n_examples // X.shape[0])
    order = np.concatenate([generator.permutation(X.shape[0]) for _ in range(n_passes)])
    for start in range(0, n_examples, settings.batch_size):
        rows = order[start : start + settings.batch_size]
        yield X[rows], y[rows]
