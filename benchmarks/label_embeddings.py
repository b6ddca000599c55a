"""Label embeddings on SYNTHETIC data: growth of time, prediction for the paper's shapes, and other methods.

    python benchmarks/label_embeddings.py growth               # writes growth.csv and growth.png to --folder
    python benchmarks/label_embeddings.py predict growth.csv   # time and memory at ODP and LSHTC shape
    python benchmarks/label_embeddings.py peers                # against scikit-learn, in one run
    python benchmarks/label_embeddings.py shape odp --components 300 --threads 2   # one large run, from disk
    python benchmarks/label_embeddings.py start delicious      # what a first step without a solution loses

Where threads share a machine with other work, seconds of processor time compare better than those of the
clock: both are printed. No figure here is one of real data.
"""

from __future__ import annotations

import argparse
import csv
import json
import logging
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import nnls
from sklearn.cross_decomposition import CCA, PLSRegression
from sklearn.decomposition import TruncatedSVD

from eigenbench.datasets import load
from eigenbench.datasets.planted_labels import PlantedLabels, canonical_angles, captured_energy, recipe_of
from eigenbench.methods.embeddings.labels.compressed_sensing import CompressedSensing
from eigenbench.methods.embeddings.labels.plst import PLST
from eigenbench.methods.embeddings.labels.rembrandt import Rembrandt
from eigenbench.methods.embeddings.labels.spectral_label_embedding import target_matrix
from eigenbench.methods.linalg.eigenproblems import leading_eigenpairs

RIDGE = 10.0
"""In mean diagonal entries of the Gram matrix: of 0.1, 1 and 10, what found most of a small planted set."""

BASE = {"n_rows": 100_000, "n_features": 200_000, "n_labels": 50_000, "rank": 64, "nonzeros_per_row": 60.0}
"""Large enough for no array of a fit to stay in a cache: points of a fifth of these sizes foretold 1,593 s of
processor time for the ODP shape, whose embedding and regression took 3,689 s."""

BASE_COMPONENTS = 100
FACTORS = (0.5, 1, 2)
AXES = ("n_rows", "n_features", "n_labels", "nonzeros_per_row", "n_components")

#: scikit-learn's cross decompositions need X, Y and XᵀY dense: bytes beyond which they are not tried.
_DENSE_LIMIT = 2 * 2**30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("growth", "predict", "peers", "shape", "start"):
        command = commands.add_parser(name)
        command.add_argument("--threads", type=int, default=1)
        command.add_argument("--folder", type=Path, default=Path())
        if name == "predict":
            command.add_argument("measured", type=Path)
        if name == "start":
            command.add_argument("dataset")
            command.add_argument("--dimensions", type=int, nargs="+", default=[10, 50])
            command.add_argument("--oversampling", type=int, default=20)
        if name == "shape":
            command.add_argument("name", choices=["odp", "lshtc", "small"])
            command.add_argument("--components", type=int, default=300)
            command.add_argument("--rows", type=int)
            command.add_argument(
                "--scale", type=float, default=1.0, help="share of rows, words, labels, topics"
            )
            command.add_argument("--order", choices=["random", "frequency"], default="random")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    commands_by_name = {"growth": growth, "predict": predict, "peers": peers, "shape": shape, "start": start}
    commands_by_name[options.command](options)


def measured(method: Any, X: Any, Y: Any) -> dict[str, float]:
    """Fit and return seconds of the clock and of all threads' processor time."""
    clock, processor = time.perf_counter(), time.process_time()
    method.fit(X, Y)
    return {"seconds": time.perf_counter() - clock, "cpu_seconds": time.process_time() - processor}


# Growth -----------------------------------------------------------------------------------------------


def growth(options: argparse.Namespace) -> None:
    """Vary one size at a time; print the exponent of each and plot. Goes on from the points in growth.csv."""
    path = options.folder / "growth.csv"
    points = _read(path) if path.exists() else []
    done = {tuple(point[axis] for axis in AXES) for point in points}
    for axis in AXES:
        for factor in FACTORS:
            sizes = {**BASE, "n_components": BASE_COMPONENTS}
            sizes[axis] = type(sizes[axis])(sizes[axis] * factor)
            if tuple(sizes[axis] for axis in AXES) in done:
                continue
            points.append({**sizes, **_grown(sizes, options.threads)})
            done.add(tuple(sizes[axis] for axis in AXES))
            print(points[-1], flush=True)
            with path.open("w", newline="") as stream:
                writer = csv.DictWriter(stream, list(points[0]))
                writer.writeheader()
                writer.writerows(points)
    for axis in AXES:
        print(f"time grows with {axis:<18} to the power {_exponent(points, axis):5.2f}")
    _plot(points, options.folder / "growth.png")


def _read(path: Path) -> list[dict[str, float]]:
    with path.open() as stream:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(stream)]


def _along(points: list[dict[str, Any]], axis: str) -> np.ndarray:
    """Return sizes and processor seconds of the points that differ from the base in one size alone."""
    base = {**BASE, "n_components": BASE_COMPONENTS}
    chosen = [p for p in points if all(p[other] == base[other] for other in AXES if other != axis)]
    return np.array(sorted((p[axis], p["cpu_seconds"]) for p in chosen)).T


def _grown(sizes: dict[str, Any], threads: int) -> dict[str, float]:
    data = PlantedLabels(**{name: sizes[name] for name in BASE})
    X, Y = data.make()
    method = Rembrandt(sizes["n_components"], ridge=RIDGE, solver="cg", n_jobs=threads, random_state=0)
    times = measured(method, X, Y)
    return {
        "nonzeros": X.nnz,
        "labels": Y.nnz,
        "cg_iterations": method.cg_iterations_,
        "threads": threads,
        **times,
        "captured_energy": captured_energy(data, method.embedding_),
    }


def _exponent(points: list[dict[str, Any]], axis: str) -> float:
    x, y = _along(points, axis)
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _plot(points: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(AXES), figsize=(3 * len(AXES), 3), sharey=True, layout="constrained"
    )
    for panel, axis in zip(axes, AXES, strict=True):
        x, y = _along(points, axis)
        panel.loglog(x, y, "o-", label="measured")
        panel.loglog(x, y[0] * x / x[0], "k:", label="proportional")
        panel.set_xlabel(f"{axis} (power {_exponent(points, axis):.2f})")
    axes[0].set_ylabel("processor seconds")
    axes[0].legend()
    figure.suptitle("Rembrandt on SYNTHETIC data")
    figure.savefig(path, dpi=120)


# Prediction -------------------------------------------------------------------------------------------


def predict(options: argparse.Namespace) -> None:
    """Fit the cost model to measured points and print what it says of the paper's shapes."""
    points = _read(options.measured)
    work = np.array([_work(p) for p in points])
    seconds = np.array([p["cpu_seconds"] for p in points])
    rates, _ = nnls(work / seconds[:, None], np.ones(len(seconds)))
    fitted = work @ rates
    error = np.abs(fitted / seconds - 1)
    print(
        f"cost model: relative error {error.mean():.0%}, at most {error.max():.0%}, over {len(points)} points"
    )
    for term, rate in zip(("sparse flops", "dense (d, w) entries", "c w² flops"), rates, strict=True):
        print(f"  {term:<22}{1 / rate if rate else np.inf:10.3g} a second and thread")
    for name, k in (("odp", 300), ("lshtc", 500)):
        data = recipe_of(f"synthetic_{name}")
        point = {
            **data.model_dump(include={"n_rows", "n_features", "n_labels"}),
            "nonzeros": data.n_rows * data.nonzeros_per_row,
            "labels": data.n_rows * data.labels_per_row,
            "n_components": k,
            "cg_iterations": max(p["cg_iterations"] for p in points),
        }
        total, memory = float(np.dot(_work(point), rates)), _memory(point, options.threads) / 2**30
        print(
            f"SYNTHETIC {name} shape, k={k}: {total:.0f} processor seconds, "
            f"{total / options.threads:.0f} s on {options.threads} free cores, {memory:.1f} GiB in all"
        )


def _work(p: dict[str, float], oversampling: int = 20) -> tuple[float, float, float]:
    """Return flops of sparse products, entries touched in (d, w) arrays, and flops of factorisations."""
    w, k, iterations = p["n_components"] + oversampling, p["n_components"], p["cg_iterations"]
    solved = 2 * w + k
    sparse = 4 * p["nonzeros"] * solved * iterations + 2 * (p["nonzeros"] + p["labels"]) * (2 * 2 * w + k)
    return sparse, 12.0 * p["n_features"] * solved * iterations, 8.0 * p["n_labels"] * w**2


def _memory(p: dict[str, float], threads: int, oversampling: int = 20) -> float:
    """Return bytes: the mapped files, the (c, w) and (d, k) arrays, and what each thread holds."""
    w, k = p["n_components"] + oversampling, p["n_components"]
    files = 8 * (p["nonzeros"] + p["labels"]) + 8 * p["n_rows"]
    return (
        files
        + 24 * p["n_labels"] * w
        + 8 * p["n_features"] * k
        + threads * (20 * 64 * p["n_features"] + 2**27)
    )


# Other methods ----------------------------------------------------------------------------------------

PEER_SIZES = {
    "tiny": PlantedLabels(n_rows=2000, n_features=500, n_labels=100, rank=8, nonzeros_per_row=30),
    "small": PlantedLabels(n_rows=8000, n_features=2000, n_labels=500, rank=20, nonzeros_per_row=40),
    "medium": PlantedLabels(n_rows=60_000, n_features=30_000, n_labels=8000, rank=64, nonzeros_per_row=50),
}


def _loadings(method: Any) -> np.ndarray:
    """Return the label side of a fitted method, (c, k)."""
    if isinstance(method, TruncatedSVD):
        return method.components_.T
    return method.y_loadings_ if hasattr(method, "y_loadings_") else method.embedding_


class SVDOfLabels(TruncatedSVD):
    """Truncated SVD of the label matrix, as a label embedding."""

    def fit(self, X: Any, Y: Any) -> SVDOfLabels:
        return super().fit(Y)


def _methods(k: int, threads: int) -> dict[str, tuple[Callable[[], Any], bool]]:
    """Return constructors, and whether the method needs dense X and Y. Extreme classifiers: add them here."""
    common = {"ridge": RIDGE, "solver": "cg", "n_jobs": threads, "random_state": 0}
    return {
        "Rembrandt": (lambda: Rembrandt(k, **common), False),
        "PLST": (lambda: PLST(k, **common), False),
        "CompressedSensing": (lambda: CompressedSensing(k, **common), False),
        "TruncatedSVD of Y": (lambda: SVDOfLabels(k, random_state=0), False),
        "PLSRegression": (lambda: PLSRegression(k, scale=False, max_iter=100), True),
        "CCA": (lambda: CCA(k, scale=False, max_iter=100), True),
    }


def peers(options: argparse.Namespace) -> None:
    """Fit each method where it can run, and print time, its ratio to Rembrandt's, and what it found."""
    print(f"{'SYNTHETIC data':<16}{'method':<20}{'cpu s':>9}{'ratio':>8}{'energy':>9}{'largest angle':>15}")
    for size, data in PEER_SIZES.items():
        X, Y = data.make()
        k = data.rank + 4
        reference = None
        for name, (make, dense) in _methods(k, options.threads).items():
            needed = 8 * (X.shape[0] * (X.shape[1] + Y.shape[1]) + 2 * X.shape[1] * Y.shape[1])
            if dense and needed > _DENSE_LIMIT:
                print(f"{size:<16}{name:<20} not tried: needs {needed / 2**30:.0f} GiB of dense matrices")
                continue
            method = make()
            taken = measured(method, *((X.toarray(), Y.toarray()) if dense else (X, Y)))["cpu_seconds"]
            reference = reference or taken
            V = _loadings(method)
            energy, angle = captured_energy(data, V), canonical_angles(data, V)[-1]
            print(
                f"{size:<16}{name:<20}{taken:>9.2f}{taken / reference:>8.2f}{energy:>9.3f}{angle:>15.3f}",
                flush=True,
            )


# One large run ----------------------------------------------------------------------------------------


def shape(options: argparse.Namespace) -> None:
    """Make the data, embed the labels, print a JSON record."""
    data = recipe_of(f"synthetic_{options.name}").scaled(options.scale)
    changes = {"n_rows": options.rows or data.n_rows, "column_order": options.order}
    data = PlantedLabels(**{**data.model_dump(), **changes})
    started = time.perf_counter()
    X, Y = data.make(options.threads)
    made = time.perf_counter() - started
    method = Rembrandt(options.components, ridge=RIDGE, solver="cg", n_jobs=options.threads, random_state=0)
    record = {
        "data": f"SYNTHETIC {options.name}",
        **data.model_dump(),
        "nonzeros": X.nnz,
        "labels": Y.nnz,
        "n_components": options.components,
        "threads": options.threads,
        "seconds_to_make_or_open": round(made, 1),
        **measured(method, X, Y),
        "cg_iterations": method.cg_iterations_,
        "captured_energy": captured_energy(data, method.embedding_),
        "angles": np.quantile(canonical_angles(data, method.embedding_), [0.5, 0.9, 1]).round(4).tolist(),
        "peak_rss_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    print(json.dumps(record, indent=2))


# The first power step ----------------------------------------------------------------------------------


def start(options: argparse.Namespace) -> None:
    """Print how much of the sum of the largest eigenvalues is lost, with exact and diagonal first steps.

    On the training rows of a real dataset, against dense algebra; three random starts.
    """
    logging.disable()
    data = load(options.dataset)
    X = np.asarray(data.X_train.toarray() if sparse.issparse(data.X_train) else data.X_train, dtype=float)
    Y = target_matrix(data.y_train, float, centred=True)[0]
    X -= X.mean(axis=0)
    cross = (Y.T @ X).T
    for ridge in (0.1, RIDGE):
        gram = X.T @ X
        gram.flat[:: len(gram) + 1] += ridge * np.diag(gram).mean()
        exact = cross.T @ linalg.solve(gram, cross, assume_a="pos")
        steps = {"exact": exact, "diagonal": cross.T @ (cross / np.diag(gram)[:, None])}
        best = linalg.eigvalsh(exact)[::-1]
        for k in options.dimensions:
            for name, first in steps.items():
                lost = [
                    1 - _kept(first, exact, k, options.oversampling, seed) / best[:k].sum()
                    for seed in range(3)
                ]
                print(f"ridge {ridge}, k={k}, {name} first step: lost {np.round(lost, 6)}", flush=True)


def _kept(first: np.ndarray, exact: np.ndarray, k: int, oversampling: int, seed: int) -> float:
    _, V = leading_eigenpairs(
        lambda Q: exact @ Q,
        len(exact),
        k,
        oversampling=oversampling,
        n_iter=1,
        rng=np.random.RandomState(seed),
        first=lambda Q: first @ Q,
    )
    return float(np.trace(V.T @ exact @ V))


if __name__ == "__main__":
    main()
