"""Methods on one dataset: one answer by tie mark, interval and p-value, whatever the design."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from eigenbench.comparison.differences import (
    COLUMNS,
    OVER_ROWS,
    OVER_SEEDS_AND_ROWS,
    OVER_SPLITS,
    OVER_VALUES,
    compare_methods,
    compare_values,
)
from eigenbench.comparison.row_metric import RowMetric

ROWS = np.arange(400)

tables = hnp.arrays(bool, st.tuples(st.integers(2, 4), st.integers(5, 6), st.integers(2, 30)))


def error(wrong) -> RowMetric:
    return RowMetric(np.asarray(wrong)[:, None])


def ratio(wrong) -> RowMetric:
    """The mean as the ratio of two means."""
    return RowMetric(
        np.column_stack([wrong, np.ones(len(wrong))]), lambda means: means[..., 0] / means[..., 1]
    )


def runs_of(wrong, metric=error):
    """Runs by method and seed from errors (methods, seeds, rows)."""
    return {f"m{j}": {seed: metric(one) for seed, one in enumerate(found)} for j, found in enumerate(wrong)}


def draws(n_splits, n_rows, pool, seed=0):
    generator = np.random.default_rng(seed)
    return {split: generator.permutation(pool)[:n_rows] for split in range(n_splits)}


def noisy(rates, n_splits, n_rows, spread, seed=0):
    """Errors (methods, splits, rows) whose rates vary from split to split."""
    generator = np.random.default_rng(seed)
    by_split = np.array(rates)[:, None] + spread * generator.standard_normal((len(rates), n_splits))
    return generator.random((len(rates), n_splits, n_rows)) < by_split[..., None]


@settings(max_examples=60)
@given(tables, st.sampled_from(["seeds", "one run", "splits", "groups", "values"]))
def test_tie_mark_interval_and_p_agree(wrong, design):
    if design == "values":
        found = compare_values(pd.DataFrame(wrong.mean(axis=2).T)).table
    else:
        n_rows = wrong.shape[2]
        given = {}
        if design == "splits":
            given["test_rows"] = draws(wrong.shape[1], n_rows, 40)
        if design == "groups":
            given["groups"] = dict.fromkeys(range(wrong.shape[1]), np.arange(n_rows) // 3)
        found = compare_methods(runs_of(wrong[:, :1] if design == "one run" else wrong), **given).table
    assert list(found.columns) == list(COLUMNS)
    best = found.loc[(found["difference"] == 0) & found["p_value"].isna()]
    assert len(best) == 1
    assert best["tied"].all()
    tested = found.drop(best.index).dropna(subset="p_value")
    assert (tested["difference"] >= 0).all()
    clear = tested[np.abs(tested["p_value"] - 0.05) > 1e-4]
    assert (clear["tied"] == (clear["p_value"] > 0.05)).all()
    assert (clear["tied"] == ((clear["difference_low"] <= 0) & (clear["difference_high"] >= 0))).all()
    untested = found.drop(best.index).drop(tested.index)
    assert untested["tied"].isna().all()


def test_two_methods_on_draws_from_many_rows_have_the_paired_t_test():
    wrong = noisy([0.2, 0.24], 6, 1000, 0.05)
    rows = {split: np.arange(split * 1000, (split + 1) * 1000) for split in range(6)}
    found = compare_methods(runs_of(wrong), test_rows=rows)
    values = wrong.mean(axis=2)
    best = int(values.mean(axis=1).argmin())
    expected = stats.ttest_rel(values[1 - best], values[best])
    line = found.table.loc[f"m{1 - best}"]
    assert found.basis == OVER_SPLITS
    assert line["p_value"] == pytest.approx(expected.pvalue, abs=1e-4)
    ends = expected.confidence_interval(0.95)
    np.testing.assert_allclose(
        line[["difference_low", "difference_high"]].astype(float), [ends.low, ends.high]
    )


def test_two_methods_on_splits_of_one_dataset_have_the_corrected_t_test():
    wrong = noisy([0.2, 0.24], 10, 450, 0.1)
    rows = draws(10, 450, 1500)
    found = compare_methods(runs_of(wrong), test_rows=rows).table
    difference = wrong.mean(axis=2)[1] - wrong.mean(axis=2)[0]
    error = np.sqrt((1 / 10 + 450 / 1050) * difference.var(ddof=1))
    expected = 2 * stats.t.sf(abs(difference.mean()) / error, 9)
    line = found[found["p_value"].notna()].iloc[0]
    assert line["p_value"] == pytest.approx(expected, abs=0.02)


def test_a_difference_has_at_least_the_variance_of_its_rows():
    """Splits that agree by chance do not make a difference of few rows sure."""
    wrong = np.zeros((2, 5, 190), bool)
    wrong[0, :, :5] = wrong[1, :, :7] = True
    rows = {split: np.arange(split * 190, (split + 1) * 190) for split in range(5)}
    found = compare_methods(runs_of(wrong), test_rows=rows).table.loc["m1"]
    assert found["difference"] == pytest.approx(2 / 190)
    assert found["difference_high"] - found["difference"] == pytest.approx(1.96 * np.sqrt(11) / 950, rel=0.05)


def test_methods_of_one_family_share_their_variance():
    """The same difference in five splits is surer beside other methods, whose splits vary as much."""
    wrong = noisy([0.2, 0.26], 5, 2000, 0.02, seed=4)
    others = noisy([0.4] * 8, 5, 2000, 0.02, seed=5)
    rows = {split: np.arange(split * 2000, (split + 1) * 2000) for split in range(5)}
    alone = compare_methods(runs_of(wrong), test_rows=rows).table.loc["m1"]
    beside = compare_methods(runs_of(np.concatenate([wrong, others])), test_rows=rows).table.loc["m1"]
    assert beside["detectable"] < alone["detectable"]


def test_a_method_that_varies_much_does_not_tie_the_others():
    generator = np.random.default_rng(0)
    quiet = pd.DataFrame(generator.normal([0.08, 0.09, 0.15], 0.002, (5, 3)), columns=list("abc"))
    noisy = quiet.assign(d=generator.normal(0.4, 0.1, 5))
    assert compare_values(quiet).table.loc["c", "p_value"] < 0.001
    assert compare_values(noisy).table.loc["c", "p_value"] < 0.001


def test_methods_that_never_vary_leave_the_variance_of_one_that_does():
    """One split of six makes its whole difference to the best."""
    wrong = np.zeros((4, 6, 100), dtype=bool)
    wrong[:2, :, :50], wrong[2, 1, :40] = True, True
    rows = {split: 100 * split + np.arange(100) for split in range(6)}
    assert compare_methods(runs_of(wrong[2:]), test_rows=rows).table.loc["m0", "tied"]
    assert compare_methods(runs_of(wrong), test_rows=rows).table.loc["m2", "tied"]


@pytest.mark.parametrize("n_splits", [1, 2, 4])
def test_few_splits_are_too_few(n_splits):
    wrong = noisy([0.1, 0.5], n_splits, 100, 0.0)
    found = compare_methods(runs_of(wrong), test_rows=draws(n_splits, 100, 1000))
    assert found.refusal == (
        f"Too few re-drawn splits to compare methods: {n_splits}, where at least 5 are needed."
    )
    assert found.table["tied"].isna().all()
    assert found.table["p_value"].isna().all()
    assert found.table["difference"].max() == pytest.approx(0.4, abs=0.15)
    assert found.table["detectable"].isna().all()


def test_two_single_runs_are_compared_as_by_mcnemar():
    first, second = ROWS < 60, (ROWS > 20) & (ROWS < 61)
    found = compare_methods(runs_of([[first], [second]]))
    table = [[0, np.sum(first & ~second)], [np.sum(second & ~first), 0]]
    assert found.basis == OVER_ROWS
    assert found.table.loc["m0", "p_value"] == pytest.approx(mcnemar(table).pvalue, abs=0.002)


def test_few_rows_on_which_two_runs_differ_are_no_proof():
    """All four rows on which only one errs are those of one method."""
    few, more = (compare_methods(runs_of([[ROWS < 60], [n > ROWS]])).table for n in (64, 68))
    assert few["tied"].all()
    assert not more["tied"].all()


def test_rows_of_one_group_count_as_one():
    """One method fails on some patients, the other on some others: 25 rows each are no 25 observations."""
    patients = np.repeat(np.arange(40), 25)
    first, second = np.isin(patients, np.arange(12)), np.isin(patients, np.arange(12, 18))
    runs = runs_of([[first], [second]])
    assert not compare_methods(runs).table["tied"].all()
    found = compare_methods(runs, groups={0: patients}).table
    assert found["tied"].all()
    signs = np.where(np.arange(40) < 12, 1, np.where(np.arange(40) < 18, -1, 0))
    assert found.loc["m0", "p_value"] == pytest.approx(stats.ttest_1samp(signs, 0).pvalue, abs=0.02)


def test_groups_that_stay_whole_are_units_of_re_drawn_splits():
    """Each split tests ten groups of its own: one method fails on one of them, the other on two others."""
    groups = np.repeat(np.arange(60), 20)
    rows = {split: np.arange(200 * split, 200 * (split + 1)) for split in range(6)}
    wrong = [[np.isin(groups[found] % 10, failed) for found in rows.values()] for failed in ([0], [1, 2])]
    assert not compare_methods(runs_of(wrong), test_rows=rows).table["tied"].all()
    whole = {split: groups[found] for split, found in rows.items()}
    assert compare_methods(runs_of(wrong), test_rows=rows, groups=whole).table["tied"].all()


def test_seeds_that_differ_much_widen_the_difference():
    calm = runs_of([[ROWS < 60] * 3, [ROWS < 90] * 3])
    wild = calm | {"m1": {seed: error(n > ROWS) for seed, n in enumerate((30, 90, 150))}}
    widths = []
    for runs in (calm, wild):
        found = compare_methods(runs)
        assert found.basis == OVER_SEEDS_AND_ROWS
        widths.append(found.table.loc["m1", "difference_high"] - found.table.loc["m1", "difference_low"])
    assert not compare_methods(calm).table.loc["m1", "tied"]
    assert compare_methods(wild).table.loc["m1", "tied"]
    assert widths[1] > 3 * widths[0]


def test_repeating_a_deterministic_run_is_no_evidence():
    once = compare_methods(runs_of([[ROWS < 60], [(ROWS > 20) & (ROWS < 61)]])).table
    again = compare_methods(runs_of([[ROWS < 60] * 9, [(ROWS > 20) & (ROWS < 61)] * 9])).table
    pd.testing.assert_frame_equal(again, once)


def test_methods_may_have_different_seeds_on_one_test_set():
    runs = {"a": {0: error(ROWS < 60)}, "b": {s: error((s < ROWS) & (61 + s > ROWS)) for s in (3, 4, 5)}}
    assert compare_methods(runs).table["tied"].all()


def test_splits_that_test_the_same_rows_are_one_test_set():
    wrong = noisy([0.2, 0.25, 0.4], 5, 300, 0.0)
    order = draws(5, 300, 300)
    shuffled = runs_of([[one[order[split]] for split, one in enumerate(found)] for found in wrong])
    found, expected = compare_methods(shuffled, test_rows=order), compare_methods(runs_of(wrong))
    assert found.basis == expected.basis == OVER_SEEDS_AND_ROWS
    pd.testing.assert_frame_equal(found.table, expected.table)


@pytest.mark.parametrize("design", ["seeds", "splits"])
def test_a_ratio_that_is_a_mean_has_the_answer_of_the_mean(design):
    wrong = noisy([0.2, 0.22, 0.4], 6, 150, 0.03)
    given = {"test_rows": draws(6, 150, 400)} if design == "splits" else {}
    expected, found = (compare_methods(runs_of(wrong, metric), **given).table for metric in (error, ratio))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6)


def test_counts_are_shares_in_another_unit():
    wrong = noisy([0.2, 0.25, 0.4], 3, 400, 0.0)
    shares = compare_methods(runs_of(wrong)).table
    counts = compare_methods(runs_of(wrong, lambda rows: RowMetric(rows[:, None], scale=400))).table
    for name in ("difference", "difference_low", "difference_high", "detectable"):
        np.testing.assert_allclose(counts[name], 400 * shares[name])
    for name in ("p_value", "n_to_settle"):
        pd.testing.assert_series_equal(counts[name], shares[name])


@pytest.mark.parametrize("design", ["seeds", "splits", "values"])
def test_the_better_end_of_the_metric_can_be_the_upper_one(design):
    wrong = noisy([0.05, 0.35], 5, 400, 0.01)
    if design == "values":
        found = compare_values(
            pd.DataFrame(1 - wrong.mean(axis=2).T, columns=["m0", "m1"]), lower_is_better=False
        )
    else:
        runs = runs_of(~wrong, lambda right: RowMetric(1.0 * right[:, None]))
        given = {"test_rows": draws(5, 400, 10_000)} if design == "splits" else {}
        found = compare_methods(runs, lower_is_better=False, **given)
    assert found.table["tied"].to_dict() == {"m0": True, "m1": False}
    assert found.table.loc["m1", "difference_high"] < 0


def test_a_method_that_lacks_a_split_has_an_empty_line():
    runs = runs_of(noisy([0.3, 0.22, 0.2], 5, 100, 0.0))
    del runs["m0"][3]
    found = compare_methods(runs | {"m4": {}}, test_rows=draws(5, 100, 1000)).table
    assert list(found.index) == ["m0", "m1", "m2", "m4"]
    assert found.loc[["m0", "m4"]].isna().all(axis=None)
    assert found.loc["m1", "tied"]


def test_where_the_best_method_lacks_a_split_none_is_tied_with_it():
    runs = runs_of(noisy([0.1, 0.3, 0.31], 5, 100, 0.0))
    del runs["m0"][3]
    found = compare_methods(runs, test_rows=draws(5, 100, 1000))
    assert found.table.isna().all(axis=None)
    assert found.refusal == "The method with the best mean, m0, lacks some of the 5 splits."


def test_one_method_is_the_best_and_none_has_no_table():
    found = compare_methods({"a": {0: error(ROWS < 5)}}).table
    assert found.loc["a", "tied"]
    assert compare_methods({"a": {}}).table.isna().all(axis=None)


def test_values_are_paired_over_seeds():
    values = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, 5.0], "b": [1.3, 2.2, 3.4, 4.1, 5.3]})
    found = compare_values(values)
    expected = stats.ttest_rel(values["b"], values["a"])
    assert found.basis == OVER_VALUES
    assert found.table.loc["b", "p_value"] == pytest.approx(expected.pvalue, abs=1e-4)


def test_values_without_spread_tell_nothing():
    values = pd.DataFrame({"a": [1.0] * 5, "b": [9.0] * 5, "c": [1.0] * 5})
    assert compare_values(values).table["tied"].isna().to_dict() == {"a": False, "b": True, "c": False}
    few = compare_values(values[:3])
    assert few.refusal == "Too few values per method to compare methods: 3, where at least 5 are needed."


def test_the_detectable_difference_is_found_in_eighty_percent():
    generator = np.random.default_rng(0)
    spread, found = 0.02, []
    # Two methods whose difference has exactly the standard deviation of independent values.
    typical = stats.norm.ppf((np.arange(20) + 0.5) / 20)
    typical *= spread * np.sqrt(2) / typical.std(ddof=1)
    scale = compare_values(pd.DataFrame({"a": np.zeros(20), "b": typical})).table["detectable"].median()
    for _ in range(300):
        values = spread * generator.standard_normal((20, 2))
        values[:, 1] += scale
        found.append(not compare_values(pd.DataFrame(values)).table["tied"].all())
    assert np.mean(found) == pytest.approx(0.8, abs=0.08)


def test_as_many_seeds_as_said_settle_an_open_difference():
    wrong = noisy([0.2, 0.215, 0.21], 10, 2000, 0.015, seed=2)
    rows = {split: np.arange(split * 2000, (split + 1) * 2000) for split in range(10)}
    table = compare_methods(runs_of(wrong), test_rows=rows).table
    open_ones = table[table["n_to_settle"].notna()]
    assert len(open_ones)
    assert open_ones["tied"].all()
    for line in open_ones.itertuples():
        assert 10 < line.n_to_settle <= 1000
        # The standard error falls as the root of the number of draws.
        shrunk = line.detectable * np.sqrt(10 / line.n_to_settle)
        assert shrunk == pytest.approx(line.difference, rel=0.05)


def test_no_number_of_seeds_settles_what_the_rows_leave_open():
    table = compare_methods(runs_of([[ROWS < 40] * 5, [ROWS < 42] * 5])).table
    assert table.loc["m1", "tied"]
    assert pd.isna(table.loc["m1", "n_to_settle"])


@pytest.mark.parametrize(
    ("n_rows", "given", "match"),
    [
        ([9] * 5, {"test_rows": dict.fromkeys(range(5), np.arange(3))}, "seed 0 needs one row number"),
        ([9] * 5, {"groups": {0: np.arange(9)}}, "seed 1 needs one group for each of its 9 test rows"),
        ([9, 4], {}, r"one number of rows, got \[4, 9\]"),
    ],
)
def test_units_fit_the_runs(n_rows, given, match):
    runs = {seed: error(np.zeros(n, bool)) for seed, n in enumerate(n_rows)}
    with pytest.raises(ValueError, match=match):
        compare_methods({"a": runs, "b": runs}, **given)


@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_values_are_finite(wrong):
    with pytest.raises(ValueError, match="compared by finite values"):
        compare_values(pd.DataFrame({"a": [1.0, wrong] * 3, "b": [1.0, 2.0] * 3}))
