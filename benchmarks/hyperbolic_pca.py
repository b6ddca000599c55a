"""Cost of hyperbolic PCA: the largest kernel problem of the paper, and a stream of a million rows.

Prints wall and processor time and the peak of resident memory of each part, one part per process. Set
OPENBLAS_NUM_THREADS to the number of cores that are free.
"""

import argparse
import multiprocessing
import resource
import time

import numpy as np

from eigenbench.methods.classifiers.one_example import OneExampleNearestNeighbour
from eigenbench.methods.embeddings.constraints.hyperbolic_pca import HyperbolicPCA
from eigenbench.methods.moments import ClassMoments


def measured(name, work):
    """Run the work and print what it cost."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name:<58}{wall:8.1f} s wall{cpu:8.1f} s processor{peak:7.2f} GiB peak", flush=True)
    return result


def smooth_images(rng, n_classes, per_class, n_features, weights):
    """Draw unit-length rows that vary smoothly with a few hidden quantities, shared by a class in part."""
    centres = rng.normal(size=(n_classes, len(weights)))
    hidden = centres.repeat(per_class, axis=0)
    hidden += rng.normal(size=hidden.shape) * np.linspace(0.1, 1, len(weights))
    X = 1 + np.cos(hidden @ weights + np.linspace(0, 2 * np.pi, n_features))
    return X / np.linalg.norm(X, axis=1, keepdims=True), np.arange(n_classes).repeat(per_class)


def kernel_all_pairs():
    """Fit 52 classes of 80 rows with the default grid of twelve η₋₁, as in the handwriting experiment."""
    rng = np.random.default_rng(0)
    weights = 0.3 * rng.normal(size=(10, 784))
    X, y = smooth_images(rng, 52, 80, 784, weights)
    model = HyperbolicPCA(24, kernel="half_rbf", gamma=16)
    measured("kernel form, m = 4,160, 12 values of η₋₁", lambda: model.fit(X, y))
    new, labels = smooth_images(rng, 9, 200, 784, weights)
    Z = measured("transform of 1,800 rows", lambda: model.transform(new))
    evaluation = OneExampleNearestNeighbour().fit(Z, labels)
    measured("1-NN error over all choices of examples, 1,800 rows", evaluation.leave_rest_out_error)


def linear_stream(n_rows, width=256, rows_per_block=50_000):
    """Stream rows that are never held together, through class moments."""

    def fit():
        moments = ClassMoments()
        for seed in range(n_rows // rows_per_block):
            rng = np.random.default_rng(seed)
            y = rng.integers(20, size=rows_per_block)
            X = rng.standard_normal((rows_per_block, width), dtype=np.float32)
            moments.update(X + (y / 20)[:, None].astype(np.float32), y)
        return HyperbolicPCA(eta_negative=0.1).fit_moments(moments)

    measured(f"linear form, {n_rows:,} x {width} rows made and streamed", fit)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the stream")
    arguments = parser.parse_args()
    for work, parameters in ((kernel_all_pairs, ()), (linear_stream, (arguments.rows,))):
        process = multiprocessing.get_context("spawn").Process(target=work, args=parameters)
        process.start()
        process.join()


if __name__ == "__main__":
    main()
