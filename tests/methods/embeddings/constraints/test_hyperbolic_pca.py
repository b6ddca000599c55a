"""Hyperbolic PCA against direct solutions of the paper's eigenproblems, and its behaviour on bad input."""

import warnings

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize

from eigenbench import ClassMoments
from eigenbench.methods.embeddings.constraints import hyperbolic_pca, positive_eigenspace
from eigenbench.methods.embeddings.constraints.hyperbolic_pca import HyperbolicPCA
from eigenbench.methods.embeddings.constraints.margin_risk import PairDistances


@pytest.fixture(scope="module")
def sample():
    X, y = make_blobs([9, 14, 6, 11], n_features=6, centers=None, cluster_std=4.0, random_state=0)
    return 0.01 * X + 3, np.array(["a", "b", "c", "d"])[y]


@pytest.fixture(scope="module")
def separated():
    X, y = make_blobs([9, 14, 6, 11], n_features=6, centers=None, cluster_std=1.0, random_state=0)
    return 0.02 * X, y


def projector(model):
    return model.components_.T @ model.components_


def all_pairs(y):
    i, j = np.triu_indices(len(y), 1)
    return np.column_stack([i, j]), np.where(y[i] == y[j], 1, -1)


def pair_weights(r, eta, balanced):
    positive = r == 1
    if balanced:
        return np.where(positive, -0.5 / positive.sum(), 0.5 * eta / (~positive).sum())
    return np.where(positive, -1.0, eta) / len(r)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("eta", [0.2, 0.7, 20.0])
def test_linear_form_maximises_the_operator_of_the_pairs(sample, balanced, eta):
    X, y = sample
    pairs, r = all_pairs(y)
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    T = (differences.T * pair_weights(r, eta, balanced)) @ differences
    values, vectors = np.linalg.eigh(T)
    kept = vectors[:, values > 0][:, ::-1][:, :3]
    model = HyperbolicPCA(3, eta_negative=eta, balanced=balanced).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values[values > 0][::-1][:3], rtol=1e-8)
    np.testing.assert_allclose(projector(model), kept @ kept.T, atol=1e-8)


@pytest.mark.parametrize("balanced", [True, False])
def test_every_form_finds_the_same_subspace(sample, balanced):
    X, y = sample
    pairs, r = all_pairs(y)
    base = HyperbolicPCA(3, eta_negative=0.5, balanced=balanced)
    linear, kernel = (clone(base).set_params(form=form).fit(X, y) for form in ("linear", "kernel"))
    moments = clone(base).fit_moments(ClassMoments().update(X[:20], y[:20]).update(X[20:], y[20:]))
    listed = [clone(base).set_params(form=form).fit_pairs(X, pairs, r) for form in ("linear", "kernel")]
    for model in (kernel, moments, *listed):
        np.testing.assert_allclose(projector(model), projector(linear), atol=1e-8)
        np.testing.assert_allclose(model.components_, linear.components_, atol=1e-8)
        np.testing.assert_allclose(model.eigenvalues_, linear.eigenvalues_, rtol=1e-8)
    for model in (kernel, *listed):
        assert model.risk_ == pytest.approx(linear.risk_, abs=1e-9)
        assert model.threshold_ == pytest.approx(linear.threshold_, abs=1e-9)


def test_kernel_form_solves_the_generalized_problem_of_all_pairs(sample):
    X, y = sample
    m, eta = len(y), 2.0
    G = rbf_kernel(X, gamma=2.0) / 2
    same = y[:, None] == y
    a = np.where(same, -1.0, eta)
    a /= np.where(same, 2 * (same.sum() - m), 2 * (~same).sum())
    A = 2 * (np.diag(a.sum(axis=1)) - a)
    values, gammas = linalg.eigh(G @ A @ G, G + 1e-13 * np.eye(m))
    values, gammas = values[: -4 - 1 : -1], gammas[:, : -4 - 1 : -1]
    model = HyperbolicPCA(4, kernel="half_rbf", gamma=2.0, eta_negative=eta).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-6)
    expected = G @ gammas
    Z = model.transform(X)
    np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-6)


@pytest.mark.parametrize("n_pairs", [25, 300])
def test_pairs_form_solves_the_generalized_problem_of_the_differences(sample, n_pairs):
    X, y = sample
    rng = np.random.RandomState(0)
    pairs, r = all_pairs(y)
    chosen = rng.choice(len(r), n_pairs, replace=False)
    pairs, r = pairs[chosen], r[chosen]
    K = rbf_kernel(X, gamma=2.0) / 2
    E = np.zeros((n_pairs, len(y)))
    E[np.arange(n_pairs), pairs[:, 0]], E[np.arange(n_pairs), pairs[:, 1]] = 1, -1
    Gamma = E @ K @ E.T
    # A square root of Γ turns ΓDΓα = λΓα into an ordinary symmetric problem, also where Γ is singular.
    root = np.real(linalg.sqrtm(Gamma + 1e-15 * np.eye(n_pairs)))
    values, u = np.linalg.eigh(root @ np.diag(pair_weights(r, 0.4, True)) @ root)
    values, u = values[:-4:-1], u[:, :-4:-1]
    model = HyperbolicPCA(3, kernel="half_rbf", gamma=2.0, eta_negative=0.4).fit_pairs(X, pairs, r)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-5)
    Z = E @ model.transform(X)
    np.testing.assert_allclose(Z @ Z.T, (root @ u) @ (root @ u).T, atol=1e-6)
    assert model.n_constraints_ == n_pairs


@pytest.mark.parametrize("kernel", ["half_rbf", "rbf", "laplacian", "polynomial", "cosine", "chi2"])
def test_distances_of_the_output_are_distances_of_the_projections(sample, kernel):
    X, y = sample
    model = HyperbolicPCA(5, kernel=kernel, gamma=0.5, eta_negative=0.5).fit(X, y)
    K = model._kernel(model.support_vectors_, model.support_vectors_)
    gram = model.dual_coef_.T @ K @ model.dual_coef_
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-6)
    assert model.transform(X).shape == (len(X), model.n_components_)


def test_callable_kernel_equals_the_named_one(sample):
    X, y = sample

    def kernel(a, b):
        return np.exp(-0.5 * np.abs(a - b).sum())

    named = HyperbolicPCA(3, kernel="laplacian", gamma=0.5, eta_negative=0.5).fit(X, y)
    own = HyperbolicPCA(3, kernel=kernel, eta_negative=0.5).fit(X, y)
    np.testing.assert_allclose(own.transform(X[:5]), named.transform(X[:5]), atol=1e-9)


@pytest.mark.parametrize(
    "etas", [{"eta_negative": [0.02, 0.1, 0.5]}, {"eta_negative": "alternating", "threshold": 0.05}]
)
def test_iteration_equals_the_dense_solver(monkeypatch, etas):
    X, y = load_digits(return_X_y=True)
    X, y = normalize(X)[:400], y[:400]
    model = HyperbolicPCA(7, kernel="half_rbf", gamma=8.0, **etas)
    dense = clone(model).fit(X, y)
    monkeypatch.setattr(positive_eigenspace, "DENSE_LIMIT", 10)
    monkeypatch.setattr(positive_eigenspace, "DENSE_SHARE", 0.1)
    iterated = clone(model).fit(X, y)
    assert (np.diff(dense.eta_path_[:2, 0]) > 0) == ("threshold" in etas), "η may rise or fall"
    np.testing.assert_allclose(iterated.eta_path_, dense.eta_path_, rtol=1e-5)
    np.testing.assert_allclose(iterated.eigenvalues_, dense.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(iterated.transform(X[:20]), dense.transform(X[:20]), atol=1e-4)


def test_iteration_keeps_positive_eigenvalues_only(monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((300, 200)), np.arange(300) % 3
    X[:, 0] += 5 * y
    model = HyperbolicPCA(6, eta_negative=0.05)
    dense = clone(model).fit(X, y)
    monkeypatch.setattr(positive_eigenspace, "DENSE_LIMIT", 10)
    monkeypatch.setattr(positive_eigenspace, "DENSE_SHARE", 0.1)
    iterated = clone(model).fit(X, y)
    assert dense.n_components_ == iterated.n_components_ < 6
    np.testing.assert_allclose(projector(iterated), projector(dense), atol=1e-5)


def test_smallest_risk_selects_eta(sample):
    X, y = sample
    model = HyperbolicPCA(2, eta_negative=[0.2, 0.5, 2.0]).fit(X, y)
    singles = {eta: HyperbolicPCA(2, eta_negative=eta).fit(X, y) for eta in (0.2, 0.5, 2.0)}
    best = min(singles.values(), key=lambda one: one.risk_)
    assert model.eta_negative_ == best.eta_negative_
    assert model.risk_ == best.risk_
    np.testing.assert_allclose(model.eta_path_[:, 2], [singles[e].risk_ for e in (2.0, 0.5, 0.2)], atol=1e-12)
    np.testing.assert_array_equal(model.components_, best.components_)


def test_by_risk_more_directions_may_cost_a_little():
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = HyperbolicPCA(eta_negative="risk").fit(X[:300] / 16, y[:300])
    sizes = []
    for eta, _, risk in free.eta_path_:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = HyperbolicPCA(eta_negative=eta).fit(X[:300] / 16, y[:300])
        sizes.append(one.n_components_ if risk <= 1.3 * free.eta_path_[:, 2].min() else 0)
    assert free.n_components_ == max(sizes) > sizes[free.eta_path_[:, 2].argmin()]


def test_the_default_keeps_as_many_directions_as_there_are(sample):
    X, y = sample
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = HyperbolicPCA().fit(X, y)
    assert model.n_components_ == X.shape[1]
    assert model.eta_negative_ == 5
    kernel = HyperbolicPCA(3, kernel="half_rbf", gamma=2.0).fit(X, y)
    risk = clone(kernel).set_params(eta_negative="risk").fit(X, y)
    np.testing.assert_array_equal(kernel.dual_coef_, risk.dual_coef_)


def test_risk_is_that_of_the_output(sample):
    X, y = sample
    model = HyperbolicPCA(2, eta_negative=0.3).fit(X, y)
    pairs = PairDistances.from_labels(model.transform(X), y)
    assert model.diameter_ == 1
    assert pairs.risk(model.threshold_, margin=0.01) == pytest.approx(model.risk_)
    assert model.risk_ == pytest.approx(pairs.best_threshold(0.01)[1])


def test_wide_inputs_are_measured_in_units_of_their_diameter(sample):
    X, y = sample
    diameter = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2).max())
    wide = HyperbolicPCA(2, eta_negative=0.3).fit(X * 10 / diameter, y)
    scaled = HyperbolicPCA(2, eta_negative=0.3).fit(X / diameter, y)
    assert scaled.diameter_ == pytest.approx(1)
    assert wide.diameter_ == pytest.approx(10)
    assert wide.risk_ == pytest.approx(scaled.risk_)
    assert wide.threshold_ == pytest.approx(10 * scaled.threshold_)


def test_alternation_is_the_same_as_one_threshold_after_the_other(separated):
    X, y = separated
    model = HyperbolicPCA(2, eta_negative="alternating", threshold=0.9).fit(X, y)
    threshold = 0.9
    for eta, found, risk in model.eta_path_:
        assert eta == pytest.approx(threshold**2 / (1 - threshold**2))
        step = HyperbolicPCA(2, threshold=threshold).fit(X, y)
        assert (step.eta_negative_, step.threshold_, step.risk_) == pytest.approx((eta, found, risk))
        threshold = step.threshold_
    assert len(model.eta_path_) > 1
    assert abs(model.eta_path_[-1, 1] - model.eta_path_[-2, 1]) < 1e-3
    np.testing.assert_allclose(projector(model), projector(step), atol=1e-8)


def test_alternation_without_a_subspace_keeps_the_last_one(sample, caplog):
    model = HyperbolicPCA(2, eta_negative="alternating", threshold=0.6).fit(*sample)
    assert len(model.eta_path_) == 1
    assert "no direction is left" in caplog.text
    assert model.transform(sample[0]).shape[1] == model.n_components_ == 2


def test_bound_is_theorem_1(sample):
    model = HyperbolicPCA(9, margin=0.5, eta_negative=0.3).fit(*sample)
    expected = model.risk_ + (2 * (3 + 1) / 0.5 + np.sqrt(np.log(10) / 2)) / np.sqrt(len(sample[1]))
    assert model.bound(delta=0.1) == pytest.approx(expected)
    with pytest.raises(ValueError, match="delta"):
        model.bound(delta=1.0)


def test_risk_of_a_sample_of_rows_depends_on_the_seed_only(sample, monkeypatch):
    monkeypatch.setattr(hyperbolic_pca, "_ROWS", 20)
    X, y = sample
    base = HyperbolicPCA(2, eta_negative=0.3)
    drawn = [clone(base).set_params(random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    assert drawn[0].risk_ == drawn[1].risk_ != drawn[2].risk_
    np.testing.assert_array_equal(drawn[0].components_, base.fit(X, y).components_)


def test_pairs_of_sparse_rows(sample):
    X, y = sample
    pairs, r = all_pairs(y)
    for kernel in ("linear", "half_rbf"):
        model = HyperbolicPCA(2, kernel=kernel, gamma=1.0, eta_negative=0.3)
        dense = clone(model).fit(X, y).transform(X)
        thin = model.fit_pairs(sparse.csr_matrix(X), pairs, r)
        np.testing.assert_allclose(thin.transform(X), dense, atol=1e-6)


def test_repeated_rows_change_nothing_but_the_weights():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((20, 3)) / 5, np.arange(20) % 4
    twice = HyperbolicPCA(2, kernel="half_rbf", gamma=1.0, eta_negative=0.4).fit(
        np.vstack([X, X]), np.tile(y, 2)
    )
    assert len(twice.support_vectors_) == 20
    Z = twice.transform(np.vstack([X, X]))
    np.testing.assert_array_equal(Z[:20], Z[20:])
    assert np.isfinite(Z).all()


def test_more_components_than_directions(sample):
    X, y = sample
    for form in ("linear", "kernel"):
        with pytest.warns(UserWarning, match="HyperbolicPCA keeps 6 of n_components=50: with η₋₁=1000"):
            model = HyperbolicPCA(50, form=form, eta_negative=1e3).fit(X, y)
        assert model.n_components_ == 6
        assert len(model.get_feature_names_out()) == model.transform(X).shape[1] == 6


def test_refitting_leaves_nothing_of_the_previous_fit(sample):
    X, y = sample
    model = HyperbolicPCA(2, eta_negative=0.3).fit(X, y)
    model.fit_moments(ClassMoments().update(X, y))
    assert not hasattr(model, "risk_")
    assert not hasattr(model, "threshold_")
    model.set_params(kernel="half_rbf").fit(X, y)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("kernel", ["linear", "half_rbf"])
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(4), [1, 1, 1, 1], "at least two labels"),
        (np.eye(4), [1, 2, 3, 4], "no two of the 4 rows share a label"),
        (np.ones((4, 2)), [1, 1, 2, 2], "no positive eigenvalue"),
        (np.array([[1.0, 0], [2, 0], [1, 0], [2, 0]]), [1, 1, 2, 2], "no positive eigenvalue"),
    ],
)
def test_data_without_direction(kernel, X, y, message):
    with pytest.raises(ValueError, match=message):
        HyperbolicPCA(kernel=kernel, eta_negative=0.5).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"eta_negative": [0.1, -1]}, "above 0"),
        ({"eta_negative": 0.1, "threshold": 0.3}, "eta_negative to None"),
        ({"eta_negative": "alternating", "threshold": 0.01}, "no positive eigenvalue for η₋₁ ≤ 0.01"),
        ({"form": "linear", "kernel": "rbf"}, "needs kernel='linear'"),
        ({"kernel": lambda a, b: 0.0}, "zero for all rows"),
        ({"kernel": lambda a, b: float(np.linalg.norm(a - b)) + 0.1}, "not positive semidefinite"),
        (
            {"kernel": "polynomial", "degree": 1000, "gamma": 1e9},
            r"'polynomial' gives inf for rows 0 and 0.*Scale the inputs",
        ),
    ],
)
def test_parameters(sample, parameters, message):
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
        HyperbolicPCA(**parameters).fit(*sample)


@pytest.mark.parametrize(
    ("pairs", "r", "message"),
    [
        ([[0, 1], [0, 99]], [1, -1], "X has 40 rows"),
        ([[0, 1], [0, 2]], [1, 0], "r must be 1 or -1"),
        ([[0, 1], [0, 2]], [1, 1], "needs both kinds"),
        ([[0.5, 1], [0, 2]], [1, -1], "integers"),
        ([[0, 1], [0, 2]], [1], "one r each"),
    ],
)
def test_pairs(sample, pairs, r, message):
    with pytest.raises(ValueError, match=message):
        HyperbolicPCA(eta_negative=1.0).fit_pairs(sample[0], pairs, r)


def test_moments_need_a_linear_kernel_and_one_eta(sample):
    moments = ClassMoments().update(*sample)
    with pytest.raises(ValueError, match="linear form only"):
        HyperbolicPCA(kernel="rbf", eta_negative=0.1).fit_moments(moments)
    with pytest.raises(ValueError, match="one value"):
        HyperbolicPCA(eta_negative="risk").fit_moments(moments)
    with pytest.raises(ValueError, match="one value"):
        HyperbolicPCA(eta_negative="alternating").fit_moments(moments)
    with pytest.raises(ValueError, match="fit_moments cannot know"):
        HyperbolicPCA(eta_negative=1.0).fit_moments(moments).bound()
