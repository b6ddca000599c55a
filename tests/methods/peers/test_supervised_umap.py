"""UMAP of umap-learn inside pipelines of ours: it learns from labels, repeats, and can be saved."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from eigenbench.methods.model_file import load_model, save_model

pytest.importorskip("umap", reason="needs the extra rivals")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fitted():
    from eigenbench.methods.peers.supervised_umap import UMAP

    X, y = load_digits(return_X_y=True)
    model = UMAP(n_components=5, random_state=0, n_jobs=1, target_weight=0.7)
    return model.fit(X[:600], y[:600]), X, y


def test_classes_of_other_rows_are_kept_apart(fitted):
    model, X, y = fitted
    neighbours = KNeighborsClassifier(5).fit(model.embedding_, y[:600])
    assert model.transform(X[600:900]).shape == (300, 5)
    assert neighbours.score(model.transform(X[600:900]), y[600:900]) > 0.85


def test_a_saved_model_maps_rows_as_before(fitted, tmp_path):
    model, X, _ = fitted
    save_model(tmp_path / "model.skops", model)
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.transform(X[600:700]), model.transform(X[600:700]))


def test_a_model_that_cannot_be_saved_says_so(fitted, tmp_path):
    from pynndescent import NNDescent

    model, X, _ = fitted
    model._knn_search_index = NNDescent(X[:100], random_state=0, n_jobs=1)
    try:
        with pytest.raises(TypeError, match="4,096 rows or more"):
            save_model(tmp_path / "model.skops", model)
    finally:
        del model._knn_search_index
    assert not list(tmp_path.iterdir())
