"""Machines on features and on the exact kernel, against scikit-learn's, fitted by hand."""

import numpy as np
import pytest
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

from eigenbench.bench.protocols import linear_svm
from eigenbench.bench.protocols.linear_svm import LinearSVMSettings, measure
from eigenbench.datasets.splits import holdout_split


@pytest.fixture(params=[10, 2])
def trial(request, digits, make_trial):
    X, V, y, v = (part[:600] for part in digits)
    few, tested = y < request.param, v < request.param
    settings = LinearSVMSettings(degree=3, sizes=(32, 128), C=(0.1, 10.0), exact_C=(0.1, 10.0), tol=1e-6)
    return make_trial(settings, X[few], V[tested], y[few], v[tested])


def chosen(machines, X, y, V, v, seed=0):
    """Return the C of least validation error, that error, and the test error after training on all rows."""
    fit_rows, held_out = holdout_split(y, 1 / 6, seed)
    errors = {
        C: 1 - machine.fit(X[fit_rows], y[fit_rows]).score(X[held_out], y[held_out])
        for C, machine in machines.items()
    }
    C = min(errors, key=errors.get)
    return C, errors[C], 1 - machines[C].fit(X, y).score(V, v)


@pytest.mark.parametrize("dual_rows_per_feature", [0, 100])
def test_machines_on_features_are_those_of_linear_svc(
    trial, projected_powers, monkeypatch, dual_rows_per_feature
):
    monkeypatch.setattr(linear_svm, "_DUAL_ROWS_PER_FEATURE", dual_rows_per_feature)
    metrics = measure(trial(projected_powers)).metrics
    X, V = normalize(trial.X), normalize(trial.V)
    for size in (32, 128):
        features = projected_powers(n_components=size).fit(X)
        machines = {C: LinearSVC(C=C, dual=False, tol=1e-8, max_iter=10_000) for C in (0.1, 10.0)}
        expected = chosen(machines, features.transform(X), trial.y, features.transform(V), trial.v)
        found = [metrics[f"{name}_at_{size}"] for name in ("C", "validation_error", "test_error")]
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("max_kernel_rows", [0, 10_000])
def test_without_steps_the_machine_is_that_of_the_exact_kernel(trial, monkeypatch, max_kernel_rows):
    monkeypatch.setattr(linear_svm, "_MAX_KERNEL_ROWS", max_kernel_rows)
    X, y = trial.X, trial.y
    # Every third row is there twice more, once with the label of the row before.
    trial.X, trial.y = np.vstack([X, X[::3], X[::3]]), np.concatenate([y, y[::3], np.roll(y, 1)[::3]])
    metrics = measure(trial(None)).metrics
    X, V = normalize(trial.X), normalize(trial.V)

    def kernel(A, B):
        squared = (A**2).sum(axis=1)[:, None] - 2 * A @ B.T + (B**2).sum(axis=1)
        return (1 - squared / 16) ** 3

    machines = {C: SVC(C=C, kernel=kernel) for C in (0.1, 10.0)}
    expected = chosen(machines, X, trial.y, V, trial.v)
    for size in (32, 128):
        found = [metrics[f"{name}_at_{size}"] for name in ("C", "validation_error", "test_error")]
        assert found == pytest.approx(expected)


def test_test_rows_do_not_choose(trial, projected_powers):
    honest = measure(trial(projected_powers)).metrics
    trial.v = np.roll(trial.v, 1)
    shuffled = measure(trial(projected_powers)).metrics
    assert {k: v for k, v in honest.items() if "test" not in k} == {
        k: v for k, v in shuffled.items() if "test" not in k
    }
    assert shuffled["test_error_at_128"] > honest["test_error_at_128"]
