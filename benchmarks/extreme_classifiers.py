"""Classifiers of many labels side by side, in one run: time to train, rows a second, bytes and precision.

    python benchmarks/extreme_classifiers.py                         # SYNTHETIC data, small and medium
    python benchmarks/extreme_classifiers.py delicious aloi          # datasets of the catalogue
    python benchmarks/extreme_classifiers.py --methods Rembrandt "napkinXC label tree" --pecos PYTHON

Each method has one setting, stated below, and none is tuned to these data: it is time and size that are
compared, and precision, plain and by propensities (PSP), shows what they buy. Seconds are of all threads'
processor time, of prediction with what it takes to hand the rows over. "best possible" is the precision of a
classifier that knows the topic of every SYNTHETIC row. Vowpal Wabbit takes part where rows have one label,
scikit-learn's cross decompositions where their dense matrices fit, and PECOS if the Python of an environment
with it is named (see `pecos_peer.py`): its time is that of its process there, its size that of its files.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cross_decomposition import CCA, PLSRegression
from sklearn.decomposition import TruncatedSVD

from eigenbench import PLST, CompressedSensing, LabelEmbeddingClassifier, Rembrandt
from eigenbench.datasets import load
from eigenbench.datasets.planted_labels import PlantedLabels
from eigenbench.methods.metrics.ranking import RankingScores, TopK, inverse_propensities, predict_top_k
from eigenbench.methods.peers.napkinxc_plt import NapkinXCPLT
from eigenbench.methods.peers.vowpal_wabbit import VowpalWabbitLOMTree, VowpalWabbitOAA

SYNTHETIC = {
    "small": PlantedLabels(n_rows=8192, n_features=1000, n_labels=200, rank=16, nonzeros_per_row=40),
    "small_multilabel": PlantedLabels(
        n_rows=8192, n_features=1000, n_labels=200, rank=16, nonzeros_per_row=40, labels_per_row=3
    ),
    "medium": PlantedLabels(n_rows=32_768, n_features=20_000, n_labels=2000, rank=50, nonzeros_per_row=50),
}
TEST_ROWS = 4096
KS = (1, 5)
N_COMPONENTS = {"small": 20, "small_multilabel": 20}
"""Dimension of the embeddings; 50 for other data."""

RIDGE = 10.0
"""In mean diagonal entries of the Gram matrix: of 0.1, 1 and 10, what found most of a small planted set."""

DENSE_LIMIT = 2 * 2**30
"""Bytes of dense X, Y and XᵀY in float64 beyond which a cross decomposition is not tried."""


class Problem(NamedTuple):
    """Rows and indicators, for training and for the test; the best precision at 1 and 5 if it is known."""

    X: Any
    Y: sparse.csr_array
    X_test: Any
    Y_test: sparse.csr_array
    best: tuple[float, float] | None

    @property
    def one_label_each(self) -> bool:
        return bool((np.diff(self.Y.indptr) == 1).all())


class CrossDecomposition(BaseEstimator):
    """Scores of labels from a cross decomposition of dense X and Y."""

    def __init__(self, regression: Any) -> None:
        self.regression = regression

    def fit(self, X: Any, Y: Any) -> CrossDecomposition:
        self.regression.fit(dense(X), dense(Y))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self.regression.predict(dense(X))


class OneLabel(BaseEstimator):
    """A classifier of class labels; its prediction counts as the first of the labels asked for."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, Y: sparse.csr_array) -> OneLabel:
        self.classifier.fit(X, Y.indices)
        return self

    def predict_top_k(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.full((X.shape[0], k), -1)
        labels[:, 0] = self.classifier.predict(X)
        return labels, np.zeros(labels.shape)


def dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X


def synthetic(recipe: PlantedLabels) -> Problem:
    rows = recipe.model_dump()
    test = PlantedLabels(**{**rows, "first_row": recipe.n_rows, "n_rows": TEST_ROWS})
    expected = -np.sort(-recipe.label_factor.toarray(), axis=1)
    best = tuple(float(recipe.topic_weights @ expected[:, :k].sum(axis=1)) / k for k in (1, 5))
    return Problem(*recipe.make(), *test.make(), best)


def catalogued(name: str) -> Problem:
    data = load(name)
    parts = []
    for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        shape = (len(y), len(data.classes)) if not sparse.issparse(y) else y.shape
        Y = y if sparse.issparse(y) else (np.ones(len(y), np.float32), (np.arange(len(y)), y))
        parts += [X, sparse.csr_array(Y, shape=shape, dtype=np.float32)]
    return Problem(*parts, best=None)


def methods(problem: Problem, k: int) -> dict[str, tuple[Callable[[], Any], str]]:
    """Return constructors, and why a method is not tried, or nothing."""
    common = {"ridge": RIDGE, "random_state": 0}

    def decoded(embedding: Any) -> Callable[[], Any]:
        return lambda: LabelEmbeddingClassifier(embedding, learning_rate=0.01, random_state=0)

    n, d, c = *problem.X.shape, problem.Y.shape[1]
    needed = 8 * (n * (d + c) + 2 * d * c)
    too_large = f"needs {needed / 2**30:.0f} GiB of dense matrices" if needed > DENSE_LIMIT else ""
    several = "" if problem.one_label_each else "rows have several labels"
    return {
        "Rembrandt": (decoded(Rembrandt(k, **common)), ""),
        "PLST": (decoded(PLST(k, **common)), ""),
        "compressed sensing": (decoded(CompressedSensing(k, **common)), ""),
        "TruncatedSVD of X": (decoded(TruncatedSVD(k, random_state=0)), ""),
        "PLSRegression": (lambda: CrossDecomposition(PLSRegression(k, scale=False, max_iter=100)), too_large),
        "CCA": (lambda: CrossDecomposition(CCA(k, scale=False, max_iter=100)), too_large),
        "napkinXC label tree": (lambda: NapkinXCPLT(random_state=0), ""),
        "VW one against all": (lambda: OneLabel(VowpalWabbitOAA(n_passes=5, random_state=0)), several),
        "VW LOMtree": (lambda: OneLabel(VowpalWabbitLOMTree(n_passes=20, random_state=0)), several),
    }


class Outcome(NamedTuple):
    """Seconds of processor time, bytes, and the best labels of the test rows."""

    train: float
    predict: float
    size: int
    best: TopK


def fitted(model: Any, problem: Problem) -> Outcome:
    started = time.process_time()
    model.fit(problem.X, problem.Y)
    trained, started = time.process_time() - started, time.process_time()
    blocks = [top for _, top in predict_top_k(model, problem.X_test, max(KS), problem.Y.shape[1])]
    predicted = time.process_time() - started
    best = TopK(*(np.vstack([getattr(top, name) for top in blocks]) for name in ("labels", "scores")))
    return Outcome(trained, predicted, len(pickle.dumps(model)), best)


def pecos(python: str, problem: Problem) -> Outcome:
    """Train PECOS in its own environment."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("X", "Y", "X_test"):
            sparse.save_npz(folder / f"{file}.npz", sparse.csr_matrix(getattr(problem, file)))
        script = Path(__file__).with_name("pecos_peer.py")
        done = subprocess.run([python, script, folder], check=True, stdout=subprocess.PIPE, text=True)
        cost = json.loads(done.stdout.splitlines()[-1])
        best = TopK(np.load(folder / "labels.npy"), np.load(folder / "scores.npy"))
    return Outcome(cost["train"], cost["predict"], cost["bytes"], best)


def compared(name: str, problem: Problem, chosen: list[str] | None, python: str | None) -> None:
    """Print a line for each method."""
    n, d, c = *problem.X.shape, problem.Y.shape[1]
    print(f"\n{name}: {n} x {d}, {c} labels, {problem.X_test.shape[0]} test rows")
    columns = "".join(f"{title:>8}" for title in ("P@1", "P@5", "PSP@1", "PSP@5"))
    print(f"{'method':<22}{'cpu s':>9}{'rows/s':>10}{'model MB':>10}{columns}")
    if problem.best is not None:
        print(f"{'best possible':<49}{problem.best[0]:>10.4f}{problem.best[1]:>8.4f}")
    weights = inverse_propensities(np.bincount(problem.Y.indices, minlength=c), n)
    tried = {
        method: (lambda make=make: fitted(make(), problem), hindrance)
        for method, (make, hindrance) in methods(problem, N_COMPONENTS.get(name, 50)).items()
        if chosen is None or method in chosen
    }
    if python is not None:
        tried["PECOS XR-Linear"] = (lambda: pecos(python, problem), "")
    for method, (run, hindrance) in tried.items():
        if hindrance:
            print(f"{method:<22} not tried: {hindrance}")
            continue
        try:
            outcome = run()
        except np.linalg.LinAlgError as error:
            print(f"{method:<22} failed: {error}")
            continue
        ranking = RankingScores(KS, weights)
        ranking.update(problem.Y_test, outcome.best)
        scores = ranking.metrics()
        ks = KS[:1] if method.startswith("VW") else KS
        figures = [
            f"{scores[f'{kind}_at_{k}']:8.4f}" if k in ks else " " * 8
            for kind in ("precision", "ps_precision")
            for k in KS
        ]
        rate = problem.X_test.shape[0] / outcome.predict
        print(
            f"{method:<22}{outcome.train:>9.1f}{rate:>10.0f}{outcome.size / 2**20:>10.2f}{''.join(figures)}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "datasets",
        nargs="*",
        default=list(SYNTHETIC),
        help=f"{', '.join(SYNTHETIC)} (SYNTHETIC), or names of the catalogue",
    )
    parser.add_argument("--methods", nargs="+", help="only these, as the table names them")
    parser.add_argument("--pecos", metavar="PYTHON", help="the Python of an environment with PECOS")
    options = parser.parse_args()
    for name in options.datasets:
        problem = synthetic(SYNTHETIC[name]) if name in SYNTHETIC else catalogued(name)
        compared(name, problem, options.methods, options.pecos)


if __name__ == "__main__":
    main()
