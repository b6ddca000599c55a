from itertools import chain, combinations

import numpy as np
import pytest
from rank_claims import rank_claim_support
from simulation import table

from eigenbench.comparison.rank_intervals import rank_intervals


def test_intervals_hold_the_ranks_of_the_table():
    errors = table(12, 6)
    found = rank_intervals(errors)
    assert (found["rank_low"] <= found["mean_rank"]).all()
    assert (found["mean_rank"] <= found["rank_high"]).all()
    assert found["place"].tolist() == sorted(found["place"])
    assert found[["place_low", "place_high"]].isin(range(1, 7)).all(axis=None)


def test_a_method_that_always_wins_has_the_first_place():
    errors = table(8, 5)
    errors["m0"] = 0.0
    found = rank_intervals(errors).loc["m0"]
    assert found[["place", "place_low", "place_high"]].tolist() == [1, 1, 1]


def holds_in_every_pool(errors, better, worse):
    """The definition, one pool after another."""
    rivals = errors.columns.drop([better, worse])
    pools = chain.from_iterable(combinations(rivals, n) for n in range(len(rivals) + 1))
    ranks = [errors[[better, worse, *pool]].rank(axis=1).mean() for pool in pools]
    return all(found[better] < found[worse] - 1e-9 for found in ranks)


@pytest.mark.parametrize("seed", range(6))
def test_support_is_that_of_all_pools(seed):
    errors = table(7, 6, seed=seed, spread=0.03).round(2)
    generator = np.random.default_rng(0)
    counts = generator.multinomial(7, np.full(7, 1 / 7), size=15)
    for better, worse in (("m0", "m3"), ("m1", "m5"), ("m5", "m0")):
        found = rank_claim_support(errors, better, worse, n_resamples=15)
        expected = np.mean(
            [holds_in_every_pool(errors.iloc[np.repeat(range(7), one)], better, worse) for one in counts]
        )
        assert found == (expected if holds_in_every_pool(errors, better, worse) else 0)


def test_a_failed_run_counts_against_the_claim():
    errors = table(6, 3)
    errors["m0"] = 0.0
    assert rank_claim_support(errors, "m0", "m1") == 1
    errors["m0"] = np.inf
    assert rank_claim_support(errors, "m0", "m1") == 0
