"""False positive rates of tests; the rates stand in their docstrings.

``pytest tests/comparison/test_false_positives.py -m slow -s`` repeats them and prints what it found.
"""

import numpy as np
import pandas as pd
import pytest
from simulation import SEED, simulations, table_of_equal_methods

from eigenbench.comparison.ranks import friedman, wilcoxon_holm

LEVEL = 0.05


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

    generator = np.random.default_rng(SEED)
    found = pd.DataFrame([rejections(generator) for _ in range(n)]).mean()
    print(f"\n{n} simulations:", found.round(4).to_dict())
    # 5 % +- 1 %; where simulations are few, what they cannot tell from that: four standard deviations.
    few = 0 if n >= 1000 else 4 * np.sqrt(LEVEL * (1 - LEVEL) / n)
    for test in ("friedman", "wilcoxon"):
        assert found[test] == pytest.approx(LEVEL, abs=0.01 + few)
    assert found["holm"] <= LEVEL + few
