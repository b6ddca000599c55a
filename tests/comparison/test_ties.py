import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenbench.comparison.resampling import resampled_means, resampled_metric
from eigenbench.comparison.row_losses import RowLosses, sum_over_splits
from eigenbench.comparison.ties import BEST, TIED, WORSE, model_confidence_set, tie_group, tie_group_of_metric

count_tables = hnp.arrays(
    np.int64, st.tuples(st.integers(1, 5), st.integers(2, 30)), elements=st.integers(0, 3)
).map(lambda counts: counts.astype(float))


def losses_of(totals):
    names = tuple(f"m{j}" for j in range(len(totals)))
    return RowLosses(names, np.asarray(totals, dtype=float), np.full(np.shape(totals)[1], 3))


def plain_confidence_set(values, resampled, level):
    """The definition, one set after another."""
    remaining = list(range(len(values)))
    while len(remaining) > 1:
        statistics = {}
        deviations = []
        for i in remaining:
            for j in remaining:
                if i != j:
                    centred = (resampled[:, i] - resampled[:, j]) - (values[i] - values[j])
                    error = np.sqrt(np.mean(centred**2))
                    statistics[i, j] = (values[i] - values[j]) / error
                    deviations.append(np.abs(centred) / error)
        if np.mean(np.max(deviations, axis=0) >= max(statistics.values())) > level:
            break
        remaining.remove(max(statistics, key=statistics.get)[0])
    return remaining


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", [0.01, 0.05, 0.3])
def test_the_set_is_that_of_the_definition(seed, level):
    generator = np.random.default_rng(seed)
    rates = generator.uniform(0.1, 0.4, 6)
    totals = generator.binomial(3, rates[:, None], (6, 80)).astype(float)
    values = totals.mean(axis=1) / 3
    resampled = resampled_means(totals, np.full(80, 3), 200, seed)
    kept = model_confidence_set(values, resampled) > level
    assert list(np.flatnonzero(kept)) == plain_confidence_set(values, resampled, level)


@given(count_tables, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(totals, random):
    order = random.sample(range(totals.shape[1]), totals.shape[1])
    expected = tie_group(losses_of(totals), n_resamples=50)
    assert tie_group(losses_of(totals[:, order]), n_resamples=50).equals(expected)


@given(count_tables)
def test_the_lowest_error_is_always_in_the_group(totals):
    found = tie_group(losses_of(totals), n_resamples=50)
    assert found["tied"].iloc[0]
    assert found["error"].is_monotonic_increasing
    assert (found["finding"] == (TIED if found["tied"].sum() > 1 else BEST))[found["tied"]].all()


@given(count_tables, st.data())
def test_methods_that_err_alike_share_their_finding(totals, data):
    twin = data.draw(st.integers(0, len(totals) - 1))
    found = tie_group(losses_of(np.vstack([totals, totals[twin]])), n_resamples=50)
    pair = found.loc[[f"m{twin}", f"m{len(totals)}"]]
    assert pair["p_value"].nunique() == 1
    assert pair["tied"].nunique() == 1


def test_relabelled_methods_keep_their_findings():
    generator = np.random.default_rng(1)
    rows = {0: np.arange(400)}
    wrong = {
        name: generator.random(400) < rate for name, rate in zip("abcd", (0.1, 0.11, 0.3, 0.4), strict=True)
    }
    runs = {name: {0: values} for name, values in wrong.items()}
    names = dict(zip("abcd", "zyxw", strict=True))
    found = tie_group(sum_over_splits(runs, rows))["finding"]
    renamed = tie_group(sum_over_splits({names[k]: v for k, v in runs.items()}, rows))["finding"]
    assert renamed.to_dict() == {names[name]: finding for name, finding in found.items()}
    assert found.to_dict() == {"a": TIED, "b": TIED, "c": WORSE, "d": WORSE}


def test_a_higher_level_keeps_fewer_methods():
    generator = np.random.default_rng(3)
    totals = generator.binomial(3, np.linspace(0.1, 0.3, 12)[:, None], (12, 150))
    groups = [
        set(t.index[t["tied"]]) for t in (tie_group(losses_of(totals), level=a) for a in (0.01, 0.1, 0.5))
    ]
    assert groups[0] >= groups[1] >= groups[2]
    assert groups[0] > groups[2]


def test_equal_predictions_are_one_group():
    found = tie_group(losses_of(np.ones((4, 9))))
    assert (found["finding"] == TIED).all()
    assert (found["p_value"] == 1).all()


def test_one_method_is_the_best():
    assert tie_group(losses_of(np.ones((1, 9))))["finding"].to_dict() == {"m0": BEST}


def test_a_constant_difference_is_one():
    found = tie_group(losses_of([[0.0] * 30, [3.0] * 30]))
    assert found["finding"].to_dict() == {"m0": BEST, "m1": WORSE}


def test_incomplete_methods_are_listed_outside_the_group():
    rows = {0: np.arange(50), 1: np.arange(50)}
    good = np.arange(50) < 5
    found = tie_group(sum_over_splits({"a": {0: good, 1: good}, "b": {1: ~good}, "c": {}}, rows))
    assert list(found.index) == ["a", "b", "c"]
    assert found["n_missing"].tolist() == [0, 1, 2]
    assert found["finding"].tolist() == [BEST, "no run in 0", "no run in 0, 1"]
    assert not found.loc[["b", "c"], "tied"].any()


def test_without_a_complete_method_there_is_no_group():
    found = tie_group(sum_over_splits({"a": {}, "b": {}}, {0: np.arange(50)}))
    assert not found["tied"].any()
    assert found["error"].isna().all()


def test_one_row_makes_no_group():
    with pytest.raises(ValueError, match="at least two test rows, got 1"):
        tie_group(losses_of([[1.0], [0.0]]))
    with pytest.raises(ValueError, match="at least two test rows, got 1"):
        tie_group_of_metric(lambda weights: [0.0], ["a"], 1)


def test_a_mean_as_a_metric_finds_the_same_group():
    generator = np.random.default_rng(5)
    totals = generator.binomial(3, np.array([0.1, 0.12, 0.25])[:, None], (3, 200)).astype(float)

    def error(weights):
        return totals @ weights / (3 * weights.sum())

    by_rows = tie_group(losses_of(totals))
    by_metric = tie_group_of_metric(error, ["m0", "m1", "m2"], 200)
    assert by_metric["finding"].equals(by_rows["finding"])
    np.testing.assert_allclose(by_metric["error"], by_rows["error"])
    np.testing.assert_allclose(by_metric["p_value"], by_rows["p_value"], atol=0.1)


@pytest.mark.parametrize("value", [[0.1], [0.1, np.nan], 0.1])
def test_a_metric_must_be_a_number_for_each_method(value):
    with pytest.raises(ValueError, match="finite number for each of the 2 methods"):
        tie_group_of_metric(lambda weights: value, ["a", "b"], 5, n_resamples=5)


def test_resampled_means_vary_as_means_do():
    """Means over rows with unequal numbers of tests, against resampling row by row."""
    generator = np.random.default_rng(0)
    n_tests = generator.integers(1, 4, 120)
    totals = generator.binomial(n_tests, 0.2, (2, 120)).astype(float)
    grouped = resampled_means(totals, n_tests, 4000, seed=1)
    one_by_one = resampled_metric(lambda w: totals @ w / (n_tests @ w), 120, 4000, seed=2)
    np.testing.assert_allclose(grouped.mean(axis=0), totals.sum(axis=1) / n_tests.sum(), atol=2e-3)
    np.testing.assert_allclose(np.cov(grouped.T), np.cov(one_by_one.T), atol=1e-4)


def test_blocks_of_resamples_do_not_change_them(monkeypatch):
    totals = np.random.default_rng(0).binomial(3, 0.2, (2, 50)).astype(float)
    whole = resampled_means(totals, np.full(50, 3), 40, seed=1)
    monkeypatch.setattr("eigenbench.comparison.resampling._BLOCK", 7)
    np.testing.assert_array_equal(resampled_means(totals, np.full(50, 3), 40, seed=1), whole)
