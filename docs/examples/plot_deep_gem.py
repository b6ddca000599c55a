"""
Deep GEM in three lines
=======================

`GEM` finds directions with large energy in one class and small energy in another. `SignedPowers` computes
features of them for a linear classifier. Both are transformers, so a second layer repeats the pipeline.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from eigenbench import GEM, CalibratedLeastSquares, SignedPowers

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.4, stratify=y, random_state=0)

# %%
# The three lines
# ---------------

linear = CalibratedLeastSquares()
gem = make_pipeline(GEM(top=3), SignedPowers(), CalibratedLeastSquares())
deep_gem = make_pipeline(GEM(top=3), SignedPowers(), GEM(top=2), SignedPowers(), CalibratedLeastSquares())

for name, model in {"pixels": linear, "GEM": gem, "GEM on GEM": deep_gem}.items():
    error = 1 - model.fit(X_train, y_train).score(X_test, y_test)
    print(f"{name:10}  {error:.1%} of {len(y_test)} test rows wrong")

# %%
# Validation rows decide whether a second layer helps.
#
# Detectors as images
# -------------------
# A detector of the pair (i, j) is bright or dark where digit i has energy and digit j has none.

detectors, pairs = gem[0].detectors_, gem[0].pairs_
figure, axes = plt.subplots(1, 5, figsize=(10, 2.3), layout="constrained")
for axis, (i, j) in zip(axes, [(3, 2), (8, 5), (3, 5), (8, 0), (4, 9)], strict=True):
    first = np.flatnonzero((pairs == (i, j)).all(axis=1))[0]
    axis.imshow(detectors[:, first].reshape(8, 8), cmap="gray")
    axis.set(title=f"{i} over {j}", xticks=[], yticks=[])
plt.show()
