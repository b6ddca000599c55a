"""The margin risk and its exact minimum over thresholds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenbench.methods.embeddings.constraints.margin_risk import PairDistances, eta_from_threshold

squares = st.lists(st.floats(0, 1).map(lambda value: round(value, 3)), min_size=1, max_size=30)
margins = st.sampled_from([0.0, 0.01, 0.1, 0.7])


def margin_function(t, margin):
    if margin == 0:
        return (t <= 0).astype(float)
    return np.clip(1 - t / margin, 0, 1)


@given(squares, squares, margins, st.booleans(), st.floats(0, 1.2))
def test_risk_is_the_mean_of_the_margin_function(positive, negative, margin, balanced, threshold):
    positive, negative = np.array(positive), np.array(negative)
    square = threshold**2
    errors = [margin_function(square - positive, margin), margin_function(negative - square, margin)]
    expected = np.mean([kind.mean() for kind in errors] if balanced else np.concatenate(errors))
    found = PairDistances(positive, negative, balanced=balanced).risk(threshold, margin)
    assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=60)
@given(squares, squares, margins, st.booleans())
def test_best_threshold_is_the_best_of_a_fine_grid(positive, negative, margin, balanced):
    pairs = PairDistances(positive, negative, balanced=balanced)
    threshold, risk = pairs.best_threshold(margin)
    grid = np.sqrt(np.linspace(0, 1.8, 3601))
    assert risk <= pairs.risk(grid, margin).min() + 1e-9
    assert pairs.risk(threshold, margin) == pytest.approx(risk, abs=1e-9)


def test_threshold_lies_in_the_middle_of_the_gap():
    threshold, risk = PairDistances([0.0, 0.04], [0.16, 0.5]).best_threshold()
    assert risk == 0
    assert threshold**2 == pytest.approx(0.1)


def test_pairs_of_labelled_points():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((30, 3)) + 100, rng.randint(4, size=30)
    pairs = PairDistances.from_labels(X, y)
    i, j = np.triu_indices(30, 1)
    distances = ((X[i] - X[j]) ** 2).sum(axis=1)
    same = y[i] == y[j]
    np.testing.assert_allclose(pairs.positive, np.sort(distances[same]), atol=1e-9)
    np.testing.assert_allclose(pairs.negative, np.sort(distances[~same]), atol=1e-9)


@pytest.mark.parametrize("y", [[0, 0, 0], [0, 1, 2]])
def test_both_kinds_of_pairs_are_needed(y):
    with pytest.raises(ValueError, match=r"there is no (positive|negative) pair"):
        PairDistances.from_labels(np.eye(3), y)


def test_distances_must_be_finite():
    with pytest.raises(ValueError, match="nan"):
        PairDistances([0.1], [0.2, np.nan])


@pytest.mark.parametrize("margin", [0.01, 0.3])
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.9])
def test_weights_dominate_the_margin_function(margin, threshold):
    positive = -min(1 / threshold**2, 1 / margin)
    negative = -eta_from_threshold(threshold, margin) * positive
    assert negative == pytest.approx(min(1 / (1 - threshold**2), 1 / margin))
    D = np.linspace(0, 1, 101)
    for r, eta in ((1, positive), (-1, negative)):
        affine = 1 + eta * (threshold**2 - D)
        below = margin_function(r * (threshold**2 - D), margin) - affine
        # The paper's choice caps the slope at 1/γ, where the function meets the bound only for |t| ≥ γ.
        assert below.max() <= 1e-12 or abs(eta) == pytest.approx(1 / margin)
