"""The machine's rate of matrix products, by which the costs of methods on several machines compare."""

from __future__ import annotations

import time

import numpy as np

_SIZE = 512
_REPEATS = 5


def gemm_gflops() -> float:
    """Measure how fast this process multiplies float32 matrices.

    Returns
    -------
    float
        10^9 operations a second, ``2 n**3`` for a product of n x n matrices: the best of five products with
        n = 512, so that another program that interferes for a moment changes nothing. With the threads that
        BLAS has now. Takes 20 to 50 ms.

    Examples
    --------
    >>> gemm_gflops() > 0
    True
    """
    generator = np.random.default_rng(0)
    first, second = generator.standard_normal((2, _SIZE, _SIZE), dtype=np.float32)
    product = first @ second
    seconds = []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        np.matmul(first, second, out=product)
        seconds.append(time.perf_counter() - started)
    return 2 * _SIZE**3 / min(seconds) / 1e9
