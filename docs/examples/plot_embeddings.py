"""
Embeddings of digits side by side
=================================

Each embedding is fitted on half of the images of four digits. The plots show its first two dimensions on
the other half. The last embeddings are scikit-learn's.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from eigenbench import (
    GEM,
    PLST,
    SIR,
    VCA,
    CompressedSensing,
    ContractedGEM,
    FisherLDA,
    HyperbolicPCA,
    NeighborhoodGEM,
    OrientedPCA,
    PerClassPCA,
    RandomDirections,
    RecursiveFeatureMachine,
    Rembrandt,
    SubclassGEM,
    TemporalHyperbolicPCA,
)

X, y = load_digits(n_class=4, return_X_y=True)
X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 1])
train, test = slice(0, None, 2), slice(1, None, 2)

embeddings = [
    RandomDirections(random_state=0),
    GEM(),
    NeighborhoodGEM(),
    SubclassGEM(random_state=0),
    FisherLDA(gamma=0.1),
    SIR(gamma=0.1),
    OrientedPCA(noise_label=1),
    PerClassPCA(),
    VCA(),
    HyperbolicPCA(n_components=2),
    RecursiveFeatureMachine(),
    Rembrandt(n_components=2, random_state=0),
    PLST(n_components=2),
    CompressedSensing(n_components=2, random_state=0),
    PCA(n_components=2),
    KernelPCA(n_components=2, kernel="rbf", gamma=0.01),
    TruncatedSVD(n_components=2, random_state=0),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
]


def show(axes, embedded, title):
    """Draw the first two numbers of each image, coloured by its digit."""
    embedded = np.column_stack([embedded, np.zeros(len(embedded))])[:, :2]
    axes.scatter(*embedded.T, c=y[test], cmap="viridis", s=6)
    axes.set(title=title, xticks=[], yticks=[])


figure, grid = plt.subplots(4, 5, figsize=(11, 9), layout="constrained")
for axes, embedding in zip(grid.flat, embeddings, strict=False):
    show(axes, embedding.fit(X[train], y[train]).transform(X[test]), type(embedding).__name__)
for axes in grid.flat[len(embeddings) : -1]:
    axes.axis("off")

# %%
# `TemporalHyperbolicPCA` gets no classes but an order of the rows: each digit is a block of time.

order = np.argsort(y[train], kind="stable")
temporal = TemporalHyperbolicPCA(n_components=2, random_state=0).fit(X[train][order])
show(grid.flat[-1], temporal.transform(X[test]), "TemporalHyperbolicPCA")
plt.show()

# %%
# Held-out accuracy of one nearest neighbour in these planes:

for embedding in [*embeddings, temporal]:
    fitted, shown = (embedding.transform(X[part])[:, :2] for part in (train, test))
    score = KNeighborsClassifier(1).fit(fitted, y[train]).score(shown, y[test])
    print(f"{type(embedding).__name__:28} {score:.2f}")

# %%
# `ContractedGEM` embeds rows with a number to predict: here the progress of diabetes after a year.

X, progress = load_diabetes(return_X_y=True)
detected = ContractedGEM(top=2).fit(X[train], progress[train]).transform(X[test])
points = plt.figure(figsize=(5, 3)).gca().scatter(*detected[:, :2].T, c=progress[test], s=10)
plt.colorbar(points, label="progress")
plt.xlabel("first detector")
plt.ylabel("second detector")
plt.show()
