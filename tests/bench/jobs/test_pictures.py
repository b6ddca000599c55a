"""Pictures of embeddings for records: directions as images, rows in the plane, the spectrum."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenbench import GEM
from eigenbench.bench.exhibits import Images, Scatter, image_side, pictures

X, Y = load_digits(return_X_y=True)
X = X.astype(np.float32)
CLASSES = [str(label) for label in range(10)]


def test_principal_components_are_images_points_and_a_spectrum():
    fitted = make_pipeline(PCA(12)).fit(X)
    found = pictures(fitted, X, Y, CLASSES)
    images, scatter = Images(**found["exhibits"][0]), Scatter(**found["exhibits"][1])
    assert (images.height, images.width, len(images.rows["leading"])) == (8, 8, 10)
    assert np.allclose(images.rows["leading"][0], fitted[0].components_[0], atol=1e-2)
    assert len(scatter.x) == 400
    assert set(scatter.labels) == set(CLASSES)
    steps, values = zip(*found["curves"]["spectrum_by_component"], strict=True)
    assert steps == tuple(range(1, 13))
    assert np.allclose(values, fitted[0].singular_values_, rtol=1e-3)


def test_detectors_come_by_eigenvalue():
    fitted = make_pipeline(GEM(top=2)).fit(X, Y)
    found = pictures(fitted, X, Y, CLASSES)
    best = fitted[0].detectors_[:, np.argmax(fitted[0].eigenvalues_)]
    assert np.allclose(found["exhibits"][0]["rows"]["leading"][0], best, atol=np.abs(best).max() / 100)
    values = [value for _, value in found["curves"]["spectrum_by_component"]]
    assert values == sorted(values, reverse=True)


def test_directions_of_scaled_columns_are_no_images():
    fitted = make_pipeline(StandardScaler(), PCA(3)).fit(X)
    (exhibit,) = pictures(fitted, X, Y, CLASSES)["exhibits"]
    assert exhibit["kind"] == "scatter"


@pytest.mark.parametrize(
    "features", [None, make_pipeline(StandardScaler()).fit(X), make_pipeline(Nystroem(n_components=5)).fit(X)]
)
def test_without_a_linear_map_there_is_nothing(features):
    assert pictures(features, X, Y, CLASSES) == {}


def test_rows_of_independent_columns_are_no_images():
    noise = np.random.default_rng(0).normal(size=(300, 100))
    assert image_side(noise) == 0
    assert image_side(np.float64(X)) == 8
    assert image_side(np.float64(X[:, :63])) == 0
