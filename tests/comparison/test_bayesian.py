import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import table

from eigenbench.comparison.ranks import RefusedComparison
from eigenbench.comparison.ratios import bayesian_signed_rank


def plain_probabilities(differences, rope, n_samples, seed):
    """The definition, one sample after another."""
    generator = np.random.default_rng(seed)
    values = np.append(0.0, differences)
    means = (values[:, None] + values) / 2
    wins = np.zeros(3)
    for _ in range(n_samples):
        weights = generator.dirichlet(np.append(0.5, np.ones(len(differences))))
        shares = [
            weights @ region @ weights for region in (means < -rope, np.abs(means) <= rope, means > rope)
        ]
        wins[np.argmax(shares)] += 1
    return wins / n_samples


@pytest.mark.parametrize("rope", [0.0, 0.005, 0.02])
def test_probabilities_are_those_of_the_definition(rope):
    errors = table(12, 3, spread=0.03)
    found = bayesian_signed_rank(errors, rope=rope, seed=1)
    for first, second in found.index:
        expected = plain_probabilities(errors[first] - errors[second], rope, 4000, seed=2)
        np.testing.assert_allclose(found.loc[(first, second)], expected, atol=4 * 0.5 / np.sqrt(4000))


@pytest.mark.parametrize("rope", [0.005, 0.02])
def test_probabilities_are_those_of_baycomp(rope):
    baycomp = pytest.importorskip("baycomp")
    errors = table(12, 2, spread=0.03)
    expected = baycomp.SignedRankTest.probs(
        errors["m1"].to_numpy(), errors["m0"].to_numpy(), rope, nsamples=4000, random_state=0
    )
    found = bayesian_signed_rank(errors, rope=rope)
    np.testing.assert_allclose(found.iloc[0], expected, atol=4 * 0.5 / np.sqrt(4000))


@settings(max_examples=20)
@given(st.permutations(range(4)))
def test_relabelling_methods_changes_nothing(order):
    errors = table(8, 4)
    expected = bayesian_signed_rank(errors, rope=0.01, n_samples=500)
    found = bayesian_signed_rank(errors.iloc[:, list(order)], rope=0.01, n_samples=500)
    for first, second in found.index:
        there = (first, second) in expected.index
        same = expected.loc[(first, second)] if there else expected.loc[(second, first)].iloc[::-1]
        np.testing.assert_allclose(found.loc[(first, second)], same, atol=1e-9)


def test_probabilities_sum_to_one_and_the_region_grows_with_rope():
    errors = table(12, 4, spread=0.03)
    found = [bayesian_signed_rank(errors, rope=rope, n_samples=2000) for rope in (0.0, 0.01, 0.05, 1.0)]
    for wider, narrower in zip(found[1:], found, strict=False):
        assert (wider["equivalent"] >= narrower["equivalent"]).all()
        np.testing.assert_allclose(wider.sum(axis=1), 1)
    assert (found[-1]["equivalent"] == 1).all()


def test_the_ends_of_the_region_belong_to_it():
    errors = pd.DataFrame({"a": [0.1] * 6, "b": [0.11] * 6})
    assert bayesian_signed_rank(errors, rope=0.01)["equivalent"].item() == 1
    assert bayesian_signed_rank(errors, rope=0.0099)["first_better"].item() > 0.9


def test_methods_that_tie_everywhere_are_equivalent():
    errors = pd.DataFrame(0.25, index=range(6), columns=["a", "b"])
    assert bayesian_signed_rank(errors, rope=0.0)["equivalent"].item() == 1


def test_a_failed_run_is_a_loss_and_two_are_a_tie():
    errors = pd.DataFrame({"a": [0.1] * 6, "b": [np.inf] * 6, "c": [np.inf] * 6})
    found = bayesian_signed_rank(errors, rope=0.01, n_samples=2000)
    assert found.loc[("a", "b"), "first_better"] > 0.9
    assert found.loc[("b", "c"), "equivalent"] == 1


def test_blocks_of_samples_do_not_change_them(monkeypatch):
    whole = bayesian_signed_rank(table(), rope=0.01, n_samples=300)
    monkeypatch.setattr("eigenbench.comparison.ratios._BLOCK", 1000)
    assert bayesian_signed_rank(table(), rope=0.01, n_samples=300).equals(whole)


@pytest.mark.parametrize("rope", [-0.01, np.nan, np.inf])
def test_rope_is_a_width(rope):
    with pytest.raises(ValueError, match="rope must be"):
        bayesian_signed_rank(table(), rope=rope)


def test_few_datasets_are_refused():
    with pytest.raises(RefusedComparison, match="4 datasets are too few"):
        bayesian_signed_rank(table(4), rope=0.01)
