"""
One pass of moments, five embeddings
====================================

Many embeddings need only count, sum and second moment of every class. `ClassMoments` accumulates them in
one pass over the rows, in any number of parts. Each embedding is then an eigenproblem without data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from eigenbench import GEM, SIR, VCA, ClassMoments, FisherLDA, PerClassPCA

X, y = load_digits(n_class=4, return_X_y=True)
X = X[:, X.std(axis=0) > 1]

# %%
# Moments of two parts of the data, for instance on two machines, and their sum:

first, second = ClassMoments().update(X[:300], y[:300]), ClassMoments().update(X[300:], y[300:])
moments = first + second
print(moments.counts, moments.second_moments.shape, f"{moments.second_moments.nbytes / 1e3:.0f} kB")

# %%
# Five embeddings from these moments:

embeddings = [FisherLDA(), SIR(), PerClassPCA(1), VCA(), GEM(top=1)]
figure, axes = plt.subplots(1, 5, figsize=(13, 2.9), layout="constrained")
for axis, embedding in zip(axes, embeddings, strict=True):
    Z = embedding.fit_moments(moments).transform(X)
    points = axis.scatter(Z[:, 0], Z[:, 1], c=y, cmap="viridis", s=8)
    axis.set(title=type(embedding).__name__, xticks=[], yticks=[])
figure.legend(*points.legend_elements(), loc="outside right center", title="digit")
plt.show()

# %%
# They equal the embeddings fitted to the data:

direct = FisherLDA().fit(X, y)
print(np.abs(direct.transform(X) - embeddings[0].transform(X)).max())
