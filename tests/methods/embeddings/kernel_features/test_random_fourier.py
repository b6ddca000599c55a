"""RandomFourierFeatures: the three kernels, orthogonal frequencies, the median length and bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from eigenbench.methods.embeddings.kernel_features.random_fourier import RandomFourierFeatures

LENGTH = 2.0
KERNELS = {
    "gaussian": lambda X: rbf_kernel(X, gamma=1 / (2 * LENGTH**2)),
    "laplacian": lambda X: laplacian_kernel(X, gamma=1 / LENGTH),
    "matern": Matern(LENGTH, nu=1.5),
}


def products(X, n_components, n_seeds, **params):
    result = []
    for seed in range(n_seeds):
        F = RandomFourierFeatures(n_components=n_components, random_state=seed, **params).fit_transform(X)
        result.append(F @ F.T)
    return np.array(result)


@pytest.mark.parametrize("n_components", [20, 21])
@pytest.mark.parametrize(
    ("kernel", "orthogonal"),
    [("gaussian", False), ("gaussian", True), ("laplacian", False), ("matern", False), ("matern", True)],
)
def test_the_mean_over_seeds_is_the_exact_kernel(kernel, orthogonal, n_components):
    X = np.random.default_rng(0).standard_normal((6, 5))
    values = products(X, n_components, 150, kernel=kernel, length_scale=LENGTH, orthogonal=orthogonal)
    error = values.std(axis=0) / np.sqrt(len(values))
    assert (np.abs(values.mean(axis=0) - KERNELS[kernel](X)) < 4.5 * error + 1e-12).all()
    assert error.max() < 0.04


def test_orthogonal_frequencies_have_the_smaller_error():
    X = np.random.default_rng(0).standard_normal((20, 16)) / 2
    exact = KERNELS["gaussian"](X)
    independent, orthogonal = (
        np.square(products(X, 32, 40, length_scale=LENGTH, orthogonal=o) - exact).mean()
        for o in (False, True)
    )
    assert orthogonal < 0.7 * independent


@pytest.mark.parametrize(("kernel", "metric"), [("gaussian", "euclidean"), ("laplacian", "cityblock")])
def test_the_median_length_is_in_the_kernels_own_distance(kernel, metric):
    X = np.random.default_rng(0).standard_normal((50, 7))
    model = RandomFourierFeatures(kernel, length_factor=0.5, random_state=0).fit(X)
    assert_allclose(model.length_scale_, 0.5 * np.median(pdist(X, metric)))
    large = np.random.default_rng(0).standard_normal((3000, 7))
    sampled = RandomFourierFeatures(kernel, random_state=0).fit(large).length_scale_
    assert_allclose(sampled, np.median(pdist(large, metric)), rtol=0.05)


def test_the_median_of_rows_most_of_which_are_alike_is_of_those_that_differ():
    X = np.zeros((40, 3))
    X[:4, 0] = 2.0
    assert_allclose(RandomFourierFeatures(random_state=0).fit(X).length_scale_, 2.0)


def test_bad_input():
    with pytest.raises(ValueError, match="uniform in direction"):
        RandomFourierFeatures("laplacian", orthogonal=True).fit(np.eye(3))
    with pytest.raises(ValueError, match=r"n_samples = 3\) are alike. Give a length_scale"):
        RandomFourierFeatures().fit(np.ones((3, 2)))
