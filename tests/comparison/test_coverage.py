"""Coverage of intervals; the shares stand in their docstrings.

``pytest tests/comparison/test_coverage.py -m slow -s`` repeats them and prints what it found.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from simulation import (
    SEED,
    difficulties,
    errors_by_split,
    nearest_centroid_error,
    nearest_centroid_runs,
    runs_of,
    seeds_on_rows,
    seeds_on_rows_rate,
    simulations,
    table_of_equal_methods,
)

from eigenbench.comparison.differences import compare_methods
from eigenbench.comparison.mean_intervals import Interval, mean_interval, wilson
from eigenbench.comparison.rank_intervals import rank_intervals


def coverage(n, truth, intervals):
    """Share of n simulations whose intervals hold the truth; that of the first must be near .95."""
    generator = np.random.default_rng(SEED)
    found = pd.DataFrame(
        [{name: i.low <= truth <= i.high for name, i in intervals(generator).items()} for _ in range(n)]
    ).mean()
    print(f"\n{n} simulations:", found.round(4).to_dict())
    assert found.iloc[0] >= 0.93 - (0 if n >= 1000 else 4 * np.sqrt(0.05 * 0.95 / n))
    assert found.iloc[0] <= 0.98 or n < 1000
    return found


def student(values):
    """The interval over seeds or splits alone."""
    mean, half_width = np.mean(values), stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return Interval(mean, mean - half_width, mean + half_width)


@simulations(200, 10_000)
def test_wilson(n):
    def intervals(generator):
        n_errors = generator.binomial(100, 0.03)
        share = n_errors / 100
        half_width = stats.norm.ppf(0.975) * np.sqrt(share * (1 - share) / 100)
        return {
            "wilson": wilson(n_errors, 100),
            "normal": Interval(share, share - half_width, share + half_width),
        }

    found = coverage(n, 0.03, intervals)
    assert found["normal"] < 0.9


@simulations(200, 1000)
@pytest.mark.parametrize("seed_deviation", [0.0, 0.2, 0.5])
def test_rows_and_seeds(n, seed_deviation):
    def intervals(generator):
        wrong = seeds_on_rows(generator, 5, 300, seed_deviation)[0]
        return {"both": mean_interval(runs_of(wrong)), "seeds": student(wrong.mean(axis=1))}

    found = coverage(n, seeds_on_rows_rate(seed_deviation), intervals)
    assert found["seeds"] < found["both"]


@simulations(200, 1000)
def test_rows_and_splits(n):
    def intervals(generator):
        runs, test_rows = nearest_centroid_runs(generator, [0.25])
        (errors,) = errors_by_split(runs)
        both = mean_interval(runs_of(runs["m0"].values()), test_rows=test_rows)
        return {"both": both, "splits": student(errors)}

    found = coverage(n, nearest_centroid_error(0.25), intervals)
    assert found["splits"] < 0.88


@simulations(100, 1000)
def test_difference_of_two_runs(n):
    def intervals(generator):
        hard = difficulties(generator, 0.1, 300)
        wrong = generator.random((2, 300)) < np.stack([hard, 0.7 * hard])
        runs = {name: runs_of([rows]) for name, rows in zip("ab", wrong, strict=True)}
        first, second = (compare_methods(runs).table.loc[name] for name in "ab")
        if first["difference"]:
            found = Interval(first["difference"], first["difference_low"], first["difference_high"])
        else:
            found = Interval(-second["difference"], -second["difference_high"], -second["difference_low"])
        return {"two runs": found}

    coverage(n, 0.03, intervals)


@simulations(100, 1000)
@pytest.mark.parametrize(("n_datasets", "expected"), [(5, 0.85), (6, 0.89), (26, 0.94)])
def test_mean_ranks(n, n_datasets, expected):
    generator, n_methods = np.random.default_rng(SEED), 10
    shares = []
    for _ in range(n):
        found = rank_intervals(pd.DataFrame(table_of_equal_methods(generator, n_datasets, n_methods)))
        shares.append(
            np.mean((found["rank_low"] <= (n_methods + 1) / 2) & (found["rank_high"] >= (n_methods + 1) / 2))
        )
    print(f"\n{n} tables of {n_datasets} datasets: {np.mean(shares):.4f}")
    assert abs(np.mean(shares) - expected) < (0.01 if n >= 1000 else 0.04)
