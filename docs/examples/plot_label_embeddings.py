"""
Label embeddings on sparse multilabel data
==========================================

With many labels a classifier can predict k numbers in place of one score per label. The label embedding
defines the k numbers. `Rembrandt` takes those that the inputs predict best, `PLST` the principal components
of the labels, and `CompressedSensing` random ones. Inputs and labels stay sparse.

The documents are synthetic: each has one of 20 topics, which chooses its labels and, with many other words,
some of its words.
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenbench import PLST, CompressedSensing, LabelEmbeddingClassifier, Rembrandt
from eigenbench.datasets.planted_labels import PlantedLabels

sizes = {"n_features": 2_000, "n_labels": 400, "rank": 20, "nonzeros_per_row": 30, "labels_per_row": 3}
X_train, Y_train = PlantedLabels(n_rows=3_000, **sizes).make()
X_test, Y_test = PlantedLabels(n_rows=1_000, first_row=4_096, **sizes).make()
print(f"{X_train.shape[0]} documents, {X_train.nnz / X_train.shape[0]:.0f} of {X_train.shape[1]} words each")
print(f"{Y_train.nnz / Y_train.shape[0]:.0f} of {Y_train.shape[1]} labels each")

# %%
# Precision at 3: the share of a document's three best-scored labels that it has.

dimensions = [2, 5, 10, 20, 40]
for embedding in (Rembrandt, PLST, CompressedSensing):
    precisions = []
    for k in dimensions:
        label_embedding = embedding(k, random_state=0)
        model = LabelEmbeddingClassifier(label_embedding, max_iter=15, refit=False, random_state=0)
        labels, _ = model.fit(X_train, Y_train).predict_top_k(X_test, 3)
        precisions.append(np.take_along_axis(Y_test.toarray(), labels, axis=1).mean())
    plt.plot(dimensions, precisions, "o-", label=embedding.__name__)
    print(f"{embedding.__name__:18}", "  ".join(f"{precision:.3f}" for precision in precisions))

plt.xscale("log")
plt.xticks(dimensions, map(str, dimensions))
plt.minorticks_off()
plt.xlabel("dimension of the embedding, k")
plt.ylabel("precision at 3")
plt.legend()
plt.show()
