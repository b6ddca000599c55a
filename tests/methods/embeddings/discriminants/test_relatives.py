"""The relatives of GEM against independent computations of the same thing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from eigenbench import SIR, VCA, FisherLDA, OrientedPCA, PerClassPCA
from eigenbench.methods.embeddings.discriminants.sir import slice_codes


def same_up_to_sign(actual, expected, **tolerance):
    signs = np.sign(np.sum(actual * expected, axis=0))
    assert_allclose(actual, expected * signs, **tolerance)


def test_lda_is_that_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    reference = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    centred = reference.transform(X) - reference.transform(X.mean(axis=0, keepdims=True))
    same_up_to_sign(FisherLDA(gamma=0.0).fit_transform(X, y), centred, rtol=1e-8, atol=1e-8)


def test_isotropic_oriented_pca_is_pca_of_centred_rows(all_digits):
    X, _ = all_digits
    X = X - X.mean(axis=0)
    found = OrientedPCA(5, gamma=0.0).fit(X)
    reference = PCA(5, svd_solver="full").fit(X)
    same_up_to_sign(found.components_.T, reference.components_.T, atol=1e-8)
    assert_allclose(found.eigenvalues_ * len(X) / (len(X) - 1), reference.explained_variance_)


def test_oriented_pca_solves_its_problem(all_digits):
    X, y = all_digits
    signal, noise = X[y != 3], X[y == 3]
    found = OrientedPCA(4, noise_label=3, gamma=0.5).fit(X, y)
    N = noise.T @ noise / len(noise)
    N += 0.5 * np.trace(N) / 64 * np.eye(64)
    values = linalg.eigh(signal.T @ signal / len(signal), N, eigvals_only=True)[::-1]
    assert_allclose(found.eigenvalues_, values[:4])
    assert_allclose(found.components_ @ N @ found.components_.T, np.eye(4), atol=1e-10)


def test_per_class_pca_is_the_svd_of_each_class(all_digits):
    X, y = all_digits
    found = PerClassPCA(3).fit(X, y)
    for label in (0, 7):
        reference = TruncatedSVD(3, algorithm="arpack", random_state=0).fit(X[y == label])
        mine = found.components_[found.component_classes_ == label]
        same_up_to_sign(mine.T, reference.components_.T, atol=1e-8)


def test_vanishing_components_are_the_last_singular_vectors(all_digits):
    X, _ = all_digits
    found = VCA(20).fit(X)
    spectrum = np.linalg.svd(X, compute_uv=False)[::-1] ** 2 / len(X)
    assert_allclose(found.eigenvalues_, spectrum[:20], atol=1e-12)
    assert_allclose(np.mean(found.transform(X) ** 2, axis=0), found.eigenvalues_, atol=1e-12)


def test_sir_is_eigenvectors_of_whitened_class_means():
    X, y = load_iris(return_X_y=True)
    covariance = np.cov(X.T, bias=True)
    whiten = linalg.fractional_matrix_power(covariance, -0.5)
    W = (X - X.mean(axis=0)) @ whiten
    means = np.stack([W[y == label].mean(axis=0) for label in range(3)])
    values, vectors = np.linalg.eigh(means.T @ means / 3)
    found = SIR(2).fit(X, y)
    assert_allclose(found.eigenvalues_, values[:1:-1])
    same_up_to_sign(found.components_.T, (whiten @ vectors)[:, :1:-1], rtol=1e-6)
    assert_allclose(found.transform(X).std(axis=0), 1)


def test_sir_finds_the_direction_of_a_continuous_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    beta = np.array([1.0, -2, 0, 0, 2, 0]) / 3
    y = np.sinh(X @ beta) + 0.1 * rng.normal(size=4000)
    found = SIR(1).fit(X, y)
    assert abs(found.components_[0] @ beta) / np.linalg.norm(found.components_) > 0.99


def test_slices_have_near_equal_counts_and_keep_ties_together():
    codes = slice_codes(np.random.default_rng(0).normal(size=1000), 8)
    assert np.bincount(codes).tolist() == [125] * 8
    assert np.unique(slice_codes(np.array([1.0, 1, 1, 1, 2, 3]), 3)).size < 4
    assert len(set(slice_codes(np.array([1.0, 1, 1, 1, 2, 3]), 3)[:4])) == 1


def test_constant_and_repeated_features_change_nothing(all_digits):
    X, y = all_digits[0][:, [10, 20, 30, 42, 43, 50]], all_digits[1]
    rng = np.random.RandomState(0)
    more = np.column_stack([X, np.full(len(X), 0.1), X[:, 2] * 1e5, np.zeros(len(X))])
    for model in (FisherLDA(gamma=0.0), SIR(n_components=4)):
        Z = model.fit(X, y).transform(X)
        same_up_to_sign(model.fit(more, y).transform(more), Z, atol=1e-6 * np.abs(Z).max())
        assert model.components_.shape[1] == 9
    wide = rng.randn(40, 100)
    assert FisherLDA(gamma=0.0).fit(wide, y[:40]).components_.shape == (9, 100)
    assert FisherLDA().fit(wide, y[:40]).gamma_ == pytest.approx((100 / 30) ** 2)


def test_what_cannot_be_solved_is_said(all_digits):
    X, y = all_digits
    with pytest.raises(ValueError, match=r"the covariance within classes .* is zero"):
        FisherLDA().fit(np.eye(10)[y], y)
    with pytest.raises(ValueError, match=r"the covariance .* is zero"):
        SIR().fit(np.full((len(y), 3), 0.1), y)
    with pytest.raises(ValueError, match="noise_label=77"):
        OrientedPCA(noise_label=77).fit(X, y)


def test_more_components_than_there_are_are_cut_with_a_warning():
    X, y = np.random.RandomState(0).randn(60, 5), np.arange(60) % 3
    with pytest.warns(UserWarning, match="FisherLDA keeps 2 of n_components=4: 3 classes and 5 inputs"):
        assert FisherLDA(4).fit(X, y).components_.shape == (2, 5)


def test_gamma_does_not_depend_on_the_scale_of_small_weights():
    X, y = load_iris(return_X_y=True)
    plain = FisherLDA().fit(X, y)
    small = FisherLDA().fit(X, y, sample_weight=np.full(len(X), 1 / len(X)))
    assert small.gamma_ == pytest.approx(plain.gamma_)
    assert_allclose(small.transform(X), plain.transform(X), rtol=1e-6, atol=1e-9)
