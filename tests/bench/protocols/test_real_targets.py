"""Columns predicted from columns, where the answer is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from eigenbench.bench.protocols.base import Trial
from eigenbench.bench.protocols.real_targets import RealTargetsSettings, measure
from eigenbench.methods.embeddings.discriminants.contracted_gem import ContractedGEM
from eigenbench.methods.embeddings.labels.rembrandt import Rembrandt
from eigenbench.methods.embeddings.signed_powers import SignedPowers


def data(noise=0.1, square=False):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2000, 6))
    projection = X @ [3, 0, 4, 0, 0, 0] / 5
    target = projection**2 if square else projection
    rows = np.column_stack([X[:, :2], target + noise * generator.normal(size=2000), X[:, 2:]])
    return SimpleNamespace(X_train=rows[:1000].astype(np.float32), X_test=rows[1000:].astype(np.float32))


def trial(dataset, *steps, targets=(2,)):
    return Trial(
        settings=RealTargetsSettings(targets=targets),
        build=lambda: make_pipeline(*(steps or [FunctionTransformer()])),
        load=None,
        data=lambda: dataset,
        seed=0,
    )


def test_raw_columns_explain_a_linear_target_but_for_its_noise():
    metrics = measure(trial(data())).metrics
    assert metrics["unexplained_variance"] == pytest.approx(0.01 / 1.01, rel=0.15)
    assert metrics["unexplained_variance_of_2"] == metrics["unexplained_variance"]


def test_it_is_scikit_learns_regression_on_scaled_columns():
    dataset = data(noise=1.0)
    X, y = np.delete(dataset.X_train, 2, axis=1), dataset.X_train[:, 2]
    model = make_pipeline(StandardScaler(), RidgeCV(RealTargetsSettings(targets=(2,)).alphas)).fit(X, y)
    expected = 1 - model.score(np.delete(dataset.X_test, 2, axis=1), dataset.X_test[:, 2])
    assert measure(trial(dataset)).metrics["unexplained_variance"] == pytest.approx(expected, rel=1e-3)


def test_contracted_gem_finds_what_no_linear_map_does():
    dataset = data(square=True)
    raw = measure(trial(dataset)).metrics["unexplained_variance"]
    steps = [ContractedGEM(top=2), SignedPowers(powers=(2.0,))]
    found = measure(trial(dataset, *steps)).metrics["unexplained_variance"]
    assert raw > 0.9
    assert found < 0.1


def test_several_targets_are_averaged():
    outcome = measure(trial(data(), Rembrandt(n_components=2, random_state=0), targets=(2, 3)))
    shares = [outcome.metrics[f"unexplained_variance_of_{column}"] for column in (2, 3)]
    assert outcome.metrics["unexplained_variance"] == pytest.approx(np.mean(shares))
    # Of the first target (3 a + 4 b) / 5 only a is left to predict from, b being the second.
    assert shares[0] == pytest.approx(16 / 25, rel=0.1)
    assert outcome.dimension == 2


@pytest.mark.parametrize(
    ("targets", "said"), [((7,), "no column 7"), (tuple(range(7)), "none is left"), ((6,), "one value")]
)
def test_columns_that_cannot_be_targets_are_named(targets, said):
    dataset = data()
    dataset.X_train[:, 6] = 1
    with pytest.raises(ValueError, match=said):
        measure(trial(dataset, targets=targets))
