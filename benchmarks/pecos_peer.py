"""Train PECOS's XR-Linear and name the five best labels of test rows; `extreme_classifiers.py` calls it.

    PYTHON benchmarks/pecos_peer.py FOLDER

PYTHON is one of an environment of its own, as PECOS needs NumPy 1: ``pip install 'numpy<2' libpecos``. Reads
X.npz, Y.npz and X_test.npz there, writes labels.npy and scores.npy, and prints its costs as JSON. Settings
are PECOS's own: labels in a tree by hierarchical k-means of the mean inputs of their rows, squared hinge.
"""

import json
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from pecos.utils import smat_util
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel

K = 5


def main(folder):
    X, Y, X_test = (
        smat_util.load_matrix(str(folder / f"{name}.npz")).tocsr().astype(np.float32)
        for name in ("X", "Y", "X_test")
    )
    started = time.process_time()
    tree = Indexer.gen(LabelEmbeddingFactory.create(Y, X, method="pifa"), indexer_type="hierarchicalkmeans")
    model = XLinearModel.train(X, Y, C=tree, threads=1)
    trained = time.process_time() - started
    started = time.process_time()
    found = smat_util.sorted_csr(model.predict(X_test, only_topk=K, threads=1))
    predicted = time.process_time() - started
    labels, scores = np.full((X_test.shape[0], K), -1), np.zeros((X_test.shape[0], K))
    for row, (first, last) in enumerate(pairwise(found.indptr)):
        labels[row, : last - first], scores[row, : last - first] = (
            found.indices[first:last],
            found.data[first:last],
        )
    np.save(folder / "labels.npy", labels)
    np.save(folder / "scores.npy", scores)
    with tempfile.TemporaryDirectory() as saved:
        model.save(saved)
        size = sum(path.stat().st_size for path in Path(saved).rglob("*") if path.is_file())
    print(json.dumps({"train": trained, "predict": predicted, "bytes": size}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
