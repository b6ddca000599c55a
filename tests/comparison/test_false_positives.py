"""How often tests reject when there is no difference; the rates stand in their docstrings.

``pytest tests/comparison/test_false_positives.py -m slow -s`` repeats them and prints what it found.
"""

import numpy as np
import pandas as pd
import pytest
from simulation import table_of_equal_methods

from eigenbench.comparison.ranks import friedman, wilcoxon_holm

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


@simulations(100, 1000)
def test_tables_over_datasets(n):
    def rejections(generator):
        table = pd.DataFrame(table_of_equal_methods(generator, 24, 6))
        pairs = wilcoxon_holm(table)
        return {
            "friedman": friedman(table).p_value < LEVEL,
            "wilcoxon": pairs["p_value"].iloc[0] < LEVEL,
            "holm": (pairs["p_holm"] < LEVEL).any(),
        }

    found, chance = rates(n, rejections)
    for test in ("friedman", "wilcoxon"):
        assert_nominal(found[test], n, chance)
    assert found["holm"] <= LEVEL + (0 if n >= 1000 else chance)
