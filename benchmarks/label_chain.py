"""Very many classes from end to end, on SYNTHETIC data: embedding, decoder, the five best labels of new rows.

    python benchmarks/label_chain.py --threads 2          # ODP shape, 100,000 classes: half an hour
    python benchmarks/label_chain.py --scale 0.1 --json chain.json

``--scale`` is the share of rows, words, labels, topics and components. The decoder is multinomial logistic
regression on the predicted embedding, at most ``--epochs`` long and kept from the epoch that is best on
10,000 held-out training rows, or a tenth of them: with the softmax of the labels of each
minibatch and of ``--sampled`` drawn ones, or, with 0, that of all labels. The record has the seconds of the
clock and of all threads' processor time of each stage, peak memory, and P@k and PSP@k of the test rows,
beside the P@k of a classifier that knows each row's topic. No figure here is one of real data.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import numpy as np
from sklearn.frozen import FrozenEstimator

from eigenbench import LabelEmbeddingClassifier, Rembrandt
from eigenbench.datasets.planted_labels import PlantedLabels, captured_energy, recipe_of
from eigenbench.methods.metrics.ranking import RankingScores, TopK, inverse_propensities

RIDGE = 10.0
"""In mean diagonal entries of the Gram matrix, as in label_embeddings.py."""

KS = (1, 3, 5)
BLOCK = 4096
"""Rows that share a random stream in `PlantedLabels`; a test set begins with one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", choices=["odp", "small"], default="odp")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--components", type=int, help="300 times the scale, at least 30, unless given")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, help="1/400 of the rows, 32 to 2048, unless given")
    parser.add_argument("--sampled", type=int, help="4096 times the scale, at least 256, unless given")
    parser.add_argument(
        "--learning-rate", type=float, help="0.03 for 30 components, falling with their square root"
    )
    parser.add_argument("--test-rows", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the record here")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    record = chain(options)
    print(json.dumps(record, indent=2))
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n")


def chain(options: argparse.Namespace) -> dict[str, Any]:
    """Run all stages and return the record."""
    recipe = recipe_of(f"synthetic_{options.shape}").scaled(options.scale)
    k = options.components or max(30, round(300 * options.scale))
    batch_size = options.batch_size or min(max(recipe.n_rows // 400, 32), 2048)
    learning_rate = options.learning_rate or 0.03 * (30 / k) ** 0.5
    sampled = max(256, round(4096 * options.scale)) if options.sampled is None else options.sampled
    stages: dict[str, dict[str, float]] = {}
    with _stage(stages, "data"):
        X, Y = recipe.make(options.threads)
        X_test, Y_test = _test_rows(recipe, options.test_rows)
    with _stage(stages, "embedding"):
        embedding = Rembrandt(k, ridge=RIDGE, solver="cg", n_jobs=options.threads, random_state=0).fit(X, Y)
    energy = captured_energy(recipe, embedding.embedding_)
    decoder = LabelEmbeddingClassifier(
        FrozenEstimator(embedding),
        max_iter=options.epochs,
        validation_fraction=min(0.1, 10_000 / recipe.n_rows),
        refit=False,
        batch_size=batch_size,
        sampled_labels=sampled or None,
        learning_rate=learning_rate,
        cache_size=2000,
        random_state=0,
    )
    with _stage(stages, "decoder"):
        decoder.fit(X, Y.indices)
    with _stage(stages, "top-5"):
        labels, scores = decoder.predict_top_k(X_test, max(KS))
    counts = np.bincount(Y.indices, minlength=recipe.n_labels)
    ranking = RankingScores(KS, inverse_propensities(counts, recipe.n_rows))
    ranking.update(Y_test, TopK(labels, scores))
    return {
        "data": f"SYNTHETIC {options.shape}",
        **recipe.model_dump(include={"n_rows", "n_features", "n_labels", "rank", "nonzeros_per_row"}),
        "n_components": k,
        "threads": options.threads,
        "softmax": f"of {f'the minibatch and {sampled} drawn' if sampled else 'all'} labels",
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "epochs": [decoder.n_iter_, options.epochs],
        "validation_curve": decoder.validation_curve_.round(5).tolist(),
        "loss_curve": decoder.loss_curve_.round(5).tolist(),
        "cg_iterations": embedding.cg_iterations_,
        "captured_energy": energy,
        "stages": stages,
        "total": {name: sum(stage[name] for stage in stages.values()) for name in ("seconds", "cpu_seconds")},
        "peak_rss_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "test_rows": X_test.shape[0],
        **ranking.metrics(),
        "precision_knowing_topics": _best_precision(recipe),
    }


@contextmanager
def _stage(stages: dict[str, dict[str, float]], name: str) -> Iterator[None]:
    clock, processor = time.perf_counter(), time.process_time()
    yield
    stages[name] = {
        "seconds": round(time.perf_counter() - clock, 2),
        "cpu_seconds": round(time.process_time() - processor, 2),
    }
    logging.info("%s: %s", name, stages[name])


def _test_rows(recipe: PlantedLabels, n_rows: int) -> tuple[Any, Any]:
    """Return rows of the same law that come after the training rows."""
    first = -(-recipe.n_rows // BLOCK) * BLOCK
    return PlantedLabels(**{**recipe.model_dump(), "first_row": first, "n_rows": n_rows}).make()


def _best_precision(recipe: PlantedLabels) -> dict[str, float]:
    """Return P@k of the most probable labels of each row's true topic."""
    factor, best = recipe.label_factor, dict.fromkeys(KS, 0.0)
    for topic, weight in enumerate(recipe.topic_weights):
        expected = -np.sort(-factor.data[factor.indptr[topic] : factor.indptr[topic + 1]])
        for k in KS:
            best[k] += float(weight * expected[:k].sum() / k)
    return {f"precision_at_{k}": value for k, value in best.items()}


if __name__ == "__main__":
    main()
