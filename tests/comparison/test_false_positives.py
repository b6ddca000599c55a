"""How often tests reject when there is no difference; the rates stand in their docstrings.

``pytest tests/comparison/test_false_positives.py -m slow -s`` repeats them and prints what it found.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from simulation import (
    N_TEST,
    N_TRAIN,
    difficulties,
    errors_by_split,
    nearest_centroid_runs,
    seeds_on_rows,
    table_of_equal_methods,
)
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from eigenbench.comparison.paired import corrected_resampled_t, mcnemar
from eigenbench.comparison.ranks import friedman, mean_ranks, nemenyi_critical_difference, wilcoxon_holm
from eigenbench.comparison.row_losses import RowLosses, sum_over_splits
from eigenbench.comparison.ties import tie_group

LEVEL = 0.05
SEED = 19


def simulations(n_quick, n_full):
    return pytest.mark.parametrize("n", [n_quick, pytest.param(n_full, marks=pytest.mark.slow)])


def rates(n, rejections):
    """Mean rejections over n simulations, by name, and their chance error: four standard deviations."""
    generator = np.random.default_rng(SEED)
    found = pd.DataFrame([rejections(generator) for _ in range(n)]).mean()
    print(f"\n{n} simulations:", found.round(4).to_dict())
    return found, 4 * np.sqrt(LEVEL * (1 - LEVEL) / n)


def assert_nominal(rate, n, chance):
    """5 % +- 1 %; where simulations are few, what they cannot tell from that."""
    tolerance = 0.01 if n >= 1000 else 0.01 + chance
    assert LEVEL - tolerance <= rate <= LEVEL + tolerance


@simulations(200, 10_000)
def test_mcnemar(n):
    def rejections(generator):
        hard = difficulties(generator, 0.1, 300)
        first, second = generator.random((2, 300)) < hard
        found = mcnemar(first, second)
        table = [[0, found.only_first], [found.only_second, 0]]
        exact = statsmodels_mcnemar(table, exact=True).pvalue
        return {"mid-p": found.p_value < LEVEL, "exact": exact < LEVEL}

    found, chance = rates(n, rejections)
    assert_nominal(found["mid-p"], n, chance)
    assert found["exact"] <= found["mid-p"]


@simulations(100, 5000)
def test_splits_of_one_dataset(n):
    """The corrected t claims at most 5 %; what ignores that splits share rows rejects far more often."""

    def rejections(generator):
        runs, _ = nearest_centroid_runs(generator, [0.25, 0.25])
        first, second = errors_by_split(runs)
        naive = np.ptp(first - second) > 0 and stats.ttest_rel(first, second).pvalue < LEVEL
        pooled = mcnemar(*(np.concatenate(list(by_split.values())) for by_split in runs.values()))
        corrected = corrected_resampled_t(first - second, n_train=N_TRAIN, n_test=N_TEST)
        return {"corrected": corrected.p_value < LEVEL, "naive": naive, "pooled": pooled.p_value < LEVEL}

    found, chance = rates(n, rejections)
    assert found["corrected"] <= LEVEL + (0 if n >= 1000 else chance)
    assert found["naive"] > 0.1 - chance
    assert found["pooled"] > 0.1 - chance


@simulations(100, 1000)
def test_tables_over_datasets(n):
    critical = nemenyi_critical_difference(6, 24)

    def rejections(generator):
        table = pd.DataFrame(table_of_equal_methods(generator, 24, 6))
        pairs = wilcoxon_holm(table)
        ranks = mean_ranks(table)["mean_rank"]
        return {
            "friedman": friedman(table).p_value < LEVEL,
            "nemenyi": np.ptp(ranks) > critical,
            "wilcoxon": pairs["p_value"].iloc[0] < LEVEL,
            "holm": (pairs["p_holm"] < LEVEL).any(),
        }

    found, chance = rates(n, rejections)
    for test in ("friedman", "wilcoxon"):
        assert_nominal(found[test], n, chance)
    for family in ("nemenyi", "holm"):
        assert found[family] <= LEVEL + (0 if n >= 1000 else chance)


@simulations(60, 1000)
@pytest.mark.parametrize(("n_best", "n_worse"), [(2, 0), (10, 0), (3, 7)])
def test_tie_groups_keep_the_best(n, n_best, n_worse):
    def kept(generator):
        runs, test_rows = nearest_centroid_runs(generator, [0.25] * n_best + [0.15] * n_worse)
        tied = tie_group(sum_over_splits(runs, test_rows))["tied"]
        best = tied[[f"m{j}" for j in range(n_best)]]
        return {"each": best.mean(), "all": best.all(), "size": tied.sum()}

    found, chance = rates(n, kept)
    assert found["each"] >= 0.95 - chance
    assert found["all"] >= 0.9 - chance


@simulations(40, 300)
def test_tie_groups_do_not_hold_the_noise_of_seeds(n):
    """The limit that the docstring states: equal methods whose seeds differ much are told from each other."""

    def lost(generator):
        found = {}
        for deviation in (0.0, 0.1, 0.2, 0.5):
            wrong = seeds_on_rows(generator, 5, 300, deviation, n_methods=2)
            losses = RowLosses(("a", "b"), wrong.sum(axis=1).astype(float), np.full(300, 5))
            found[deviation] = not tie_group(losses)["tied"].all()
        return found

    found, chance = rates(n, lost)
    assert found[0.0] <= 0.08 + chance
    assert found[0.5] > 0.3
