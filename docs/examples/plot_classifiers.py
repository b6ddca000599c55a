"""
Classifiers on the plane
========================

The shade is the probability of the second class, or the predicted class of classifiers without
probabilities. Linear classifiers get 200 random Fourier features, so that their boundary can be nonlinear.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline

from eigenbench import (
    CalibratedLeastSquares,
    DoublyStochasticLogistic,
    GeometricMeanEnsemble,
    LabelEmbeddingClassifier,
    OneExampleNearestNeighbour,
    RandomFourierFeatures,
    SecondOrderLogistic,
    SignedPowers,
    StochasticLogistic,
)

X, y = make_moons(240, noise=0.25, random_state=0)
features = RandomFourierFeatures(n_components=200, length_factor=0.5, random_state=0)

classifiers = [
    CalibratedLeastSquares(feature_map=features, ridge=0.1),
    SecondOrderLogistic(feature_map=features),
    StochasticLogistic(feature_map=features, random_state=0),
    LabelEmbeddingClassifier(feature_map=features, random_state=0),
    DoublyStochasticLogistic(n_components=256, random_state=0),
    GeometricMeanEnsemble(make_pipeline(features, CalibratedLeastSquares(0.1)), random_state=0),
    OneExampleNearestNeighbour(),
]
sides = [np.linspace(low - 0.4, high + 0.4, 90) for low, high in zip(X.min(0), X.max(0), strict=True)]
grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)

figure, panels = plt.subplots(2, 4, figsize=(12, 6), layout="constrained")
for axes, classifier in zip(panels.flat, classifiers, strict=False):
    classifier.fit(X, y)
    shade = (
        classifier.predict_proba(grid)[:, 1]
        if hasattr(classifier, "predict_proba")
        else classifier.predict(grid)
    )
    axes.contourf(*sides, shade.reshape(90, 90), levels=9, cmap="coolwarm", alpha=0.6)
    axes.scatter(*X.T, c=y, cmap="coolwarm", s=6)
    axes.set(title=type(classifier).__name__, xticks=[], yticks=[])

# %%
# `SignedPowers` also makes boundaries nonlinear: powers of the positive and the negative part of each
# projection.

z = np.linspace(-2, 2, 201)
powers = SignedPowers()
for curve, power in zip(powers.fit_transform(z[:, None]).T, powers.powers, strict=False):
    panels.flat[-1].plot(z, curve, label=f"max(0, z)^{power:g}")
panels.flat[-1].set(title="SignedPowers", xlabel="projection z")
panels.flat[-1].legend(frameon=False)
plt.show()
