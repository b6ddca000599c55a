"""metric-learn's NCA and MMC with inner loops of our own: the same functions, the same optimum."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

metric_learn = pytest.importorskip("metric_learn")

from metric_learn.constraints import Constraints, wrap_pairs  # noqa: E402

from eigenbench.methods.peers.metric_learners import (  # noqa: E402
    NCA,
    MMC_Supervised,
    _CheckedInputs,
    _nearest_metric,
)


class PackagesNCA(_CheckedInputs, metric_learn.NCA):
    pass


class PackagesMMC(_CheckedInputs, metric_learn.MMC_Supervised):
    pass


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return make_pipeline(StandardScaler(), PCA(5)).fit_transform(X), y


def test_value_and_gradient_of_nca_are_the_packages(wine):
    X, y = np.repeat(wine[0], 2, axis=0), np.repeat(wine[1], 2)
    X += np.random.default_rng(0).normal(scale=0.01, size=X.shape)
    A = np.random.default_rng(1).normal(size=(3, 5))
    theirs, ours = PackagesNCA(), NCA()
    theirs.n_iter_ = 0
    same = y[:, np.newaxis] == y
    value, gradient = theirs._loss_grad_lbfgs(A.ravel(), X, same, -1.0)
    found, slope = ours._loss_grad_lbfgs(A.ravel(), X, same, -1.0)
    assert found == pytest.approx(value, rel=1e-6)
    assert np.allclose(slope, gradient, rtol=0, atol=1e-5 * np.abs(gradient).max())


def _spread_and_excess(model, X, y):
    """Return MMC's objective and how far the constraint on similar pairs is exceeded."""
    pairs, sign = wrap_pairs(X, Constraints(y).positive_negative_pairs(180, random_state=0))
    differences = pairs[:, 0] - pairs[:, 1]
    squares = ((differences @ model.components_.T) ** 2).sum(axis=1)
    bound = (differences[sign == 1] ** 2).sum() / 100
    return np.sqrt(squares[sign == -1]).sum(), squares[sign == 1].sum() / bound - 1


def test_mmc_reaches_the_packages_optimum_and_keeps_the_constraint(wine):
    X, y = wine
    ours = MMC_Supervised(n_constraints=180, max_iter=100, random_state=0).fit(X, y)
    theirs = PackagesMMC(n_constraints=180, max_iter=100, random_state=0).fit(X, y)
    spread, excess = _spread_and_excess(ours, X, y)
    limit, allowed = _spread_and_excess(theirs, X, y)
    assert ours.converged_
    assert excess <= 1e-5
    # The package ends up to a hundredth above the bound, and distances grow with its root.
    assert 0 < allowed <= 0.01
    assert spread >= limit / np.sqrt(1.01)


@pytest.mark.parametrize("seed", range(5))
def test_projection_is_the_nearest_metric_within_the_bound(seed):
    generator = np.random.default_rng(seed)

    def semidefinite(rank):
        factor = generator.normal(size=(6, rank))
        return factor @ factor.T

    scatter, bound = semidefinite(8), 1.0
    A = semidefinite(6) - 0.5 * semidefinite(6)
    found = _nearest_metric(A, scatter, bound)
    assert np.linalg.eigvalsh(found)[0] >= -1e-12
    assert np.vdot(scatter, found) <= bound * (1 + 1e-5)
    for rank in (1, 2, 6):
        other = semidefinite(rank)
        other *= bound / np.vdot(scatter, other)
        assert np.vdot(A - found, other - found) <= 1e-4 * np.linalg.norm(A)


def test_a_metric_within_the_bound_stays():
    A = np.diag([1.0, 2.0, 3.0])
    assert np.allclose(_nearest_metric(A, np.eye(3), 7.0), A)
