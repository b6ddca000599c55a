"""The errors of features, against the formulas written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from eigenbench.bench.protocols.kernel_error import KernelErrorSettings, effective_rank, measure
from eigenbench.methods.embeddings.kernel_features.random_maclaurin import RandomMaclaurin
from eigenbench.methods.embeddings.kernel_features.tensor_sketch import TensorSketch


@pytest.fixture
def trial(make_trial):
    generator = np.random.default_rng(0)
    X, V = (generator.standard_normal((rows, 5)) for rows in (40, 30))
    return make_trial(KernelErrorSettings(degree=3, sizes=(8, 512), rows=1000), X, V)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_errors_are_those_of_the_formula(trial, projected_powers):
    outcome = measure(trial(projected_powers))
    X, V = unit(trial.X), unit(trial.V)
    squared = ((X[:, None, :] - V[None, :, :]) ** 2).sum(axis=2)
    exact = (1 - squared / 16) ** 3
    for size in (8, 512):
        features = projected_powers(n_components=size).fit(X)
        errors = features.transform(X) @ features.transform(V).T - exact
        assert outcome.metrics[f"kernel_mse_at_{size}"] == pytest.approx(np.mean(errors**2), rel=1e-6)
        assert outcome.metrics[f"expected_kernel_mse_at_{size}"] == outcome.metrics[f"kernel_mse_at_{size}"]
        relative = np.sqrt(np.mean(errors**2) / np.mean(exact**2))
        assert outcome.metrics[f"kernel_relative_error_at_{size}"] == pytest.approx(relative, rel=1e-6)
    assert outcome.curves["kernel_mse_by_features"] == [
        (size, outcome.metrics[f"kernel_mse_at_{size}"]) for size in (8, 512)
    ]


def test_sparse_rows_give_the_same(make_trial, trial, projected_powers):
    sparse_trial = make_trial(trial.settings, sparse.csr_array(trial.X), sparse.csr_array(trial.V))
    dense, from_sparse = (measure(made(projected_powers)).metrics for made in (trial, sparse_trial))
    assert dense == pytest.approx(from_sparse, rel=1e-6)


def test_opposite_rows_have_a_kernel_of_zero_whatever_the_degree(make_trial, trial, projected_powers):
    opposite = make_trial(KernelErrorSettings(degree=2.5, a=2.0, sizes=(8,), rows=10), trial.X, -trial.X)
    assert all(np.isfinite(value) for value in measure(opposite(projected_powers)).metrics.values())


def test_only_as_many_rows_as_asked_for(make_trial, trial, projected_powers):
    few = make_trial(KernelErrorSettings(degree=3, sizes=(8,), rows=10), trial.X, trial.V)
    assert measure(few(projected_powers)).metrics["exact_effective_rank"] <= 10


def test_effective_rank_counts_equal_directions():
    assert effective_rank(np.eye(7)) == pytest.approx(7)
    assert effective_rank(np.ones((7, 7))) == pytest.approx(1, abs=1e-6)
    blocks = np.kron(np.eye(3), np.ones((2, 2)))
    assert effective_rank(blocks) == pytest.approx(3)
    shares = np.array([0.5, 0.25, 0.25])
    assert_allclose(effective_rank(np.diag(shares)), np.exp(-(shares * np.log(shares)).sum()))


def test_the_expectation_is_the_mean_over_draws(make_trial, trial, projected_powers):
    settings = trial.settings.model_copy(update={"draws": 40})
    many = measure(make_trial(settings, trial.X, trial.V)(projected_powers)).metrics
    one = measure(trial(projected_powers)).metrics
    for metric in ("kernel_mse_at_8", "effective_rank_at_8"):
        assert many[metric] == one[metric]
    seeds = (measure(trial(projected_powers, seed=seed)).metrics for seed in range(40))
    mean = np.mean([found["kernel_mse_at_512"] for found in seeds])
    assert many["expected_kernel_mse_at_512"] == pytest.approx(mean, rel=0.3)


@pytest.mark.parametrize("method", [RandomMaclaurin, TensorSketch])
def test_the_expectation_is_exact_for_maps_that_know_it(make_trial, trial, method):
    settings = KernelErrorSettings(degree=7, sizes=(16, 64), draws=7)
    seeds = [measure(make_trial(settings, trial.X, trial.V)(method, seed=seed)).metrics for seed in range(60)]
    for size in (16, 64):
        expected = seeds[0][f"expected_kernel_mse_at_{size}"]
        assert np.mean([found[f"kernel_mse_at_{size}"] for found in seeds]) == pytest.approx(
            expected, rel=0.3
        )
