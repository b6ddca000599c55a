"""Speed and memory of the random feature maps beside the fastest thing that could do the same work.

Each line times both sides in this process, in turn, and prints their ratio; only ratios are comparable
between machines. Memory is the peak of a process of its own for each side. Set OPENBLAS_NUM_THREADS to the
number of cores that are free.
"""

import argparse
import multiprocessing
import time
from pathlib import Path

import numpy as np
from sklearn.kernel_approximation import PolynomialCountSketch

from eigenbench.methods.embeddings.kernel_features.craft import CRAFT
from eigenbench.methods.embeddings.kernel_features.random_fourier import RandomFourierFeatures
from eigenbench.methods.embeddings.kernel_features.random_maclaurin import RandomMaclaurin
from eigenbench.methods.embeddings.kernel_features.spherical import SphericalRandomFeatures
from eigenbench.methods.embeddings.kernel_features.spherical_hermite import SphericalHermiteFeatures
from eigenbench.methods.embeddings.kernel_features.tensor_sketch import TensorSketch

DEGREE, WIDTH, SCALE = 7, 784, 4.0
PARTS = ("sketch", "maps", "products", "density")


def unit_rows(n, d):
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X


def seconds(work, repeats=3, clock=time.perf_counter):
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def report(name, mine, reference_name, reference, unit="s"):
    print(
        f"{name:<46}{mine:9.3f} {unit:<4}{reference_name:<34}{reference:9.3f} {unit:<4}"
        f"ratio {mine / reference:6.3f}",
        flush=True,
    )


def sketches(n_components):
    ours = TensorSketch(DEGREE, SCALE, n_components, random_state=0)
    theirs = PolynomialCountSketch(
        degree=DEGREE, coef0=SCALE**2 / 2 - 1, n_components=n_components, random_state=0
    )
    return {"TensorSketch": ours, "PolynomialCountSketch": theirs}


def resident(field):
    """Return the resident memory of this process in MiB, now (VmRSS) or at its highest (VmHWM).

    ``ru_maxrss`` will not do: a new process inherits the peak of the one that started it.
    """
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


def _peak(name, n, n_components, queue):
    """Put the peak resident memory of a transform over that of the input alone, in MiB."""
    X = unit_rows(n, WIDTH)
    sketch = sketches(n_components)[name].fit(X[:8])
    before = resident("VmRSS")
    sketch.transform(X)
    queue.put(resident("VmHWM") - before)


def peak_memory(name, n, n_components):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_peak, args=(name, n, n_components, queue))
    process.start()
    process.join()
    if process.exitcode:
        raise MemoryError(f"{name} at {n:,} rows ended with status {process.exitcode}")
    return queue.get()


def bench_tensor_sketch(n, n_components, n_memory):
    X = unit_rows(n, WIDTH)
    fitted = {name: sketch.fit(X) for name, sketch in sketches(n_components).items()}
    times = {name: seconds(lambda s=sketch: s.transform(X), 2) for name, sketch in fitted.items()}
    label = f"TensorSketch {n:,} x {WIDTH}, p={DEGREE}, D={n_components:,}"
    report(label, times["TensorSketch"], "PolynomialCountSketch", times["PolynomialCountSketch"])
    ours = peak_memory("TensorSketch", n_memory, n_components)
    theirs = peak_memory("PolynomialCountSketch", n, n_components) * n_memory / n
    scaled = "" if n == n_memory else f", scaled from {n:,}"
    report(f"  memory at {n_memory:,} rows", ours, f"PolynomialCountSketch{scaled}", theirs, "MiB")


def bench_spherical(n, d, n_components):
    X = unit_rows(n, d)
    W = np.random.default_rng(1).standard_normal((d, n_components), dtype=np.float32)

    def bare():
        product = X @ W
        np.cos(product, out=product)

    reference = seconds(bare)
    maps = {
        "SphericalRandomFeatures": SphericalRandomFeatures(n_components=n_components),
        "  random phases": SphericalRandomFeatures(n_components=n_components, phases="random"),
        "  hadamard directions": SphericalRandomFeatures(n_components=n_components, directions="hadamard"),
        "SphericalHermiteFeatures": SphericalHermiteFeatures(DEGREE, SCALE, n_components),
        "RandomFourierFeatures": RandomFourierFeatures(n_components=n_components),
        "RandomMaclaurin": RandomMaclaurin(DEGREE, SCALE, n_components),
        "TensorSketch": TensorSketch(DEGREE, SCALE, n_components),
        "CRAFT": CRAFT(DEGREE, SCALE, n_components),
    }
    for name, model in maps.items():
        model.set_params(random_state=0).fit(X)
        label = f"{name} {n:,} x {d:,}, D={n_components:,}"
        report(label, seconds(lambda m=model: m.transform(X)), "bare product and cosine", reference)


def bench_products(n, d, n_components):
    """Maps that are more than a product and a function of it, beside the product alone, in processor time."""
    X = unit_rows(n, d)
    W = np.random.default_rng(1).standard_normal((d, n_components), dtype=np.float32)
    reference = seconds(lambda: X @ W, clock=time.process_time)
    for model in (SphericalHermiteFeatures, TensorSketch):
        fitted = model(DEGREE, SCALE, n_components, random_state=0).fit(X)
        label = f"{model.__name__} {n:,} x {d:,}, D={n_components:,}"
        mine = seconds(lambda m=fitted: m.transform(X), clock=time.process_time)
        report(label, mine, "bare product", reference)


def bench_density(d):
    X = unit_rows(2, d)
    for degree in (3, 7, 20):
        start = time.perf_counter()
        model = SphericalRandomFeatures(degree, n_components=64, random_state=0).fit(X)
        elapsed = time.perf_counter() - start
        report(f"density fit d={d:,}, p={degree}, error {model.fit_error_:.1e}", elapsed, "limit", 10.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000, help="rows for both sides of TensorSketch")
    parser.add_argument("--memory-rows", type=int, default=60_000, help="rows of our memory measurement")
    parser.add_argument("--features", type=int, default=4096)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="default: all")
    args = parser.parse_args()
    if "sketch" in args.parts:
        bench_tensor_sketch(args.rows, args.features, args.memory_rows)
    if "maps" in args.parts:
        bench_spherical(args.rows, WIDTH, args.features)
        bench_spherical(args.rows // 4, 5_000, args.features)
    if "products" in args.parts:
        bench_products(args.rows // 8, WIDTH, 4 * args.features)
    for d in (2, 256, 1_000, 10_000) if "density" in args.parts else ():
        bench_density(d)


if __name__ == "__main__":
    main()
