"""
Kernel features against the exact kernel
========================================

Random features replace the kernel :math:`(1 - \\|x - y\\|^2 / a^2)^p` on unit vectors by an inner product
of D numbers. The exact kernel is known, so the error of each map can be measured.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from eigenbench import (
    CRAFT,
    OptimizedMaclaurin,
    RandomMaclaurin,
    SphericalHermiteFeatures,
    SphericalRandomFeatures,
    TensorSketch,
)

degree, a = 7, 4.0
X = normalize(load_digits().data)[:300]
exact = (1 - (2 - 2 * X @ X.T) / a**2) ** degree

sizes = [128, 256, 512, 1024, 2048]
maps = [SphericalHermiteFeatures, SphericalRandomFeatures, RandomMaclaurin, OptimizedMaclaurin, TensorSketch]
for kernel_map in maps:
    errors = []
    for size in sizes:
        draws = [kernel_map(degree, a, size, random_state=seed).fit_transform(X) for seed in range(10)]
        errors.append(np.mean([(F @ F.T - exact) ** 2 for F in draws]))
    plt.loglog(sizes, errors, "o-", base=2, label=kernel_map.__name__)
    print(f"{kernel_map.__name__:26}", "  ".join(f"{error:.1e}" for error in errors))

plt.yscale("log", base=10)
plt.xlabel("features, D")
plt.ylabel("mean squared error of the kernel")
plt.legend()
plt.show()

# %%
# The error of unbiased maps falls as 1/D. Spherical random features approximate a neighbour of the kernel,
# so their error has a floor, which is known after `fit`:

fitted = SphericalRandomFeatures(degree, a, 2048, random_state=0).fit(X)
print(f"floor: {fitted.fit_error_:.1e}")

# %%
# `CRAFT` projects a wide map to few features, here to 512.

compact = CRAFT(degree, a, 512, random_state=0).fit_transform(X)
print(f"CRAFT, 512 features: {np.mean((compact @ compact.T - exact) ** 2):.1e}")
