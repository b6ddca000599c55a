"""
New classes from one example each: hyperbolic PCA
=================================================

`HyperbolicPCA` learns from some classes a subspace where equal labels are near and different labels are
far. One example each can then separate new classes. Here a class is one handwritten digit, rotated by any
angle. Forty classes train the embedding and ten others test it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter, rotate
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from eigenbench import HyperbolicPCA, OneExampleNearestNeighbour

rng = np.random.default_rng(0)
digits = load_digits().images
written = digits[rng.choice(len(digits), 50, replace=False)]
turned = [
    gaussian_filter(rotate(np.pad(np.kron(image, np.ones((2, 2))), 4), angle, reshape=False, order=1), 1)
    for image in written
    for angle in rng.uniform(0, 360, 30)
]
X, y = normalize(np.reshape(turned, (1500, -1))), np.arange(50).repeat(30)
known, new = y < 40, y >= 40

# %%
# The error of the nearest neighbour with one example of each new class, in expectation over all choices of
# the examples:

embeddings = {
    "pixels": X,
    "PCA": PCA(20).fit(X[known]).transform(X),
    "hyperbolic PCA": HyperbolicPCA(20, kernel="half_rbf", gamma=4.0).fit(X[known], y[known]).transform(X),
}
errors = {
    name: OneExampleNearestNeighbour().fit(Z[new], y[new]).leave_rest_out_error()
    for name, Z in embeddings.items()
}
for name, error in errors.items():
    print(f"{name:15} {error:.2f}")

# %%
# The new classes in the first two dimensions of two of them:

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for axis, name in zip(axes, ["PCA", "hyperbolic PCA"], strict=True):
    axis.scatter(*embeddings[name][new, :2].T, c=y[new], cmap="tab10", s=10)
    axis.set(title=f"{name}: error {errors[name]:.2f}", xticks=[], yticks=[])
plt.show()
