"""Methods on one dataset: the same answers as the single tests, and few false ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from simulation import seeds_on_rows

from eigenbench.comparison.mean_intervals import wilson
from eigenbench.comparison.one_dataset import (
    COLUMNS,
    compare_over_seeds,
    compare_over_splits,
    compare_values,
    interval_over_seeds,
    interval_over_splits,
)
from eigenbench.comparison.paired import mcnemar
from eigenbench.comparison.row_metric import RowMetric

ROWS = np.arange(400)


def error(wrong) -> RowMetric:
    return RowMetric(np.asarray(wrong)[:, None])


def test_two_single_runs_are_compared_by_mcnemar_and_resampled_rows():
    first, second = ROWS < 60, (ROWS > 20) & (ROWS < 61)
    found = compare_over_seeds({"a": [error(first)], "b": [error(second)]}).loc["a"]
    assert found["p_value"] == mcnemar(first, second).p_value
    differences = first.astype(float) - second
    expected = stats.bootstrap((differences,), np.mean, method="percentile", rng=0).confidence_interval
    assert found["difference"] == pytest.approx(differences.mean())
    assert found["difference_low"] == pytest.approx(expected.low, abs=0.004)
    assert found["difference_high"] == pytest.approx(expected.high, abs=0.004)


def test_the_interval_of_one_run_is_wilsons_also_for_counts():
    expected = wilson(60, 400)
    assert interval_over_seeds([error(ROWS < 60)]) == expected
    counted = interval_over_seeds([RowMetric((ROWS < 60)[:, None], scale=400)])
    assert counted.low == pytest.approx(400 * expected.low)
    assert counted.estimate == 60


def test_a_mean_of_numbers_has_the_interval_of_its_standard_error():
    values = np.random.default_rng(0).normal(2.0, 1.0, 400)
    found = interval_over_seeds([RowMetric(values[:, None])])
    half = 1.96 * values.std() / 20
    assert found.low == pytest.approx(values.mean() - half, abs=0.02)
    assert found.high == pytest.approx(values.mean() + half, abs=0.02)


def test_seeds_that_differ_much_widen_the_difference():
    calm = {"a": [error(ROWS < 60)] * 3, "b": [error(ROWS < 80)] * 3}
    wild = calm | {"b": [error(n > ROWS) for n in (20, 80, 140)]}
    widths = []
    for runs in (calm, wild):
        line = compare_over_seeds(runs).loc["b"]
        widths.append(line["difference_high"] - line["difference_low"])
    assert not compare_over_seeds(calm).loc["b", "tied"]
    assert compare_over_seeds(wild).loc["b", "tied"]
    assert widths[1] > 3 * widths[0]


def test_a_metric_that_is_no_mean_over_rows_is_resampled():
    """The mean of one column over that of another, 1 for each row, is the mean of the first."""
    ratio = {
        name: [RowMetric(np.column_stack([wrong, np.ones(400)]), lambda means: means[..., 0] / means[..., 1])]
        for name, wrong in {"a": ROWS < 60, "b": ROWS < 120}.items()
    }
    plain = {"a": [RowMetric((ROWS < 60)[:, None] * 1.0)], "b": [RowMetric((ROWS < 120)[:, None] * 1.0)]}
    first, second = compare_over_seeds(ratio).loc["b"], compare_over_seeds(plain).loc["b"]
    assert first["difference"] == second["difference"] == pytest.approx(0.15)
    assert first["difference_low"] == pytest.approx(second["difference_low"], abs=0.005)


@pytest.mark.parametrize("over", ["seeds", "splits", "values"])
def test_the_better_end_of_the_metric_can_be_the_upper_one(over):
    if over == "values":
        values = pd.DataFrame({"a": [0.9, 0.92, 0.91], "b": [0.5, 0.53, 0.51]})
        found = compare_values(values, lower_is_better=False)
    else:
        right = {"a": [n <= ROWS for n in (20, 22, 25)], "b": [n <= ROWS for n in (130, 140, 141)]}
        runs = {name: [RowMetric(one[:, None] * 1.0) for one in ones] for name, ones in right.items()}
        if over == "seeds":
            found = compare_over_seeds(runs, lower_is_better=False)
        else:
            by_split = {name: dict(enumerate(ones)) for name, ones in runs.items()}
            sizes = {"n_train": 800, "n_test": 400}
            found = compare_over_splits(
                by_split, dict.fromkeys(range(3), ROWS), lower_is_better=False, **sizes
            )
    assert list(found.columns) == list(COLUMNS)
    assert found["tied"].to_dict() == {"a": True, "b": False}
    assert found.loc["b", "difference_high"] < 0
    assert found.loc["a", "difference"] == 0
    assert np.isnan(found.loc["a", "p_value"])


def test_splits_of_a_ratio_tie_like_those_of_the_mean_that_it_is():
    generator = np.random.default_rng(3)
    rows = {split: generator.permutation(400)[:150] for split in range(4)}
    wrong = {name: generator.random(400) < rate for name, rate in (("a", 0.1), ("b", 0.11), ("c", 0.4))}
    means = {name: {s: error(one[at]) for s, at in rows.items()} for name, one in wrong.items()}
    ratios = {
        name: {
            s: RowMetric(
                np.column_stack([run.values, np.ones(150)]), lambda means: means[..., 0] / means[..., 1]
            )
            for s, run in found.items()
        }
        for name, found in means.items()
    }
    sizes = {"n_train": 250, "n_test": 150}
    expected, found = (compare_over_splits(runs, rows, **sizes) for runs in (means, ratios))
    assert found["tied"].to_dict() == expected["tied"].to_dict()
    np.testing.assert_allclose(found["p_holm"], expected["p_holm"])
    interval = interval_over_splits(list(means["a"].values()), **sizes)
    assert 0 < interval.low < interval.estimate < interval.high


def test_values_are_paired_over_seeds():
    values = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.3, 2.2, 3.4, 4.1]})
    found = compare_values(values).loc["b"]
    expected = stats.ttest_rel(values["b"], values["a"])
    assert found["p_value"] == pytest.approx(expected.pvalue)
    assert found["difference_low"] == pytest.approx(expected.confidence_interval().low)


def test_one_value_tells_nothing_apart():
    found = compare_values(pd.DataFrame({"a": [1.0], "b": [9.0], "c": [1.0]}))
    assert found["tied"].isna().to_dict() == {"a": False, "b": True, "c": False}
    assert found["p_holm"].isna()[["a", "b"]].all()


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [0.0, 0.2, 0.5])
def test_equal_randomized_methods_are_seldom_told_apart(deviation):
    generator = np.random.default_rng(19)
    told_apart = 0
    for _ in range(200):
        wrong = seeds_on_rows(generator, 5, 300, deviation, 2)
        found = compare_over_seeds({str(j): [error(one) for one in wrong[j]] for j in range(2)})
        told_apart += not found["tied"].all()
    assert told_apart / 200 <= 0.09
