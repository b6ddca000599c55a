"""The page of defaults holds what the reference results show."""

from pathlib import Path

import defaults as page
import numpy as np
import pandas as pd
import pytest

from eigenbench.bench.suites.suite_file import load_suite

SUITES = Path(__file__).parents[1] / "config" / "suites"


def test_the_tables_of_the_page_are_those_of_the_reference():
    text = page.PAGE.read_text(encoding="utf-8")
    for name, block in page.blocks().items():
        assert f"<!-- from {name} -->\n{block}" in text, "run python docs/defaults.py"


def test_every_estimator_has_errors_on_twelve_datasets():
    errors = page.read()["errors"].unstack()
    names = {*page.OURS, *(f"{name} tuned" for name in page.OURS), *page.PEERS}
    assert names == set(errors.columns)
    assert errors.shape[0] == 12
    assert np.isfinite(errors.to_numpy()).all()


def test_ratios_compare_counts_with_half_an_error_added():
    results = page.read()
    counts = results["errors"].unstack()
    expected = (counts["GEM"]["wdbc"] + 0.5) / (counts["GEM tuned"]["wdbc"] + 0.5)
    assert page.error_ratios(results, "GEM")["wdbc"] == pytest.approx(expected)


def test_gaps_compare_the_means_of_the_leaderboards():
    board = pd.read_csv(page.TUNING / "leaderboard.csv").set_index(["method", "classifier", "experiment"])
    board = board["mean"].sort_index()
    errors = page.read_tuning()
    assert errors["default"].shape == (4, 42)
    pairs = {
        "gem": [("gem", "LogisticRegression"), ("gem_tuned", "LogisticRegression_tuned")],
        "raw": [("raw", "LogisticRegression"), ("raw", "LogisticRegression_tuned")],
        "SVC": [("raw", "SVC"), ("raw", "SVC_tuned")],
    }
    for name, (default, tuned) in pairs.items():
        for setting, key in [("default", default), ("tuned", tuned)]:
            expected = board[key].reindex(errors[setting].index)
            np.testing.assert_allclose(errors[setting][name], expected)
        expected = (board[default] / board[tuned]).reindex(errors["default"].index)
        np.testing.assert_allclose(page.tuning_ratios(errors).loc[name], expected)
    means = np.log(page.tuning_ratios(errors)).mean(axis=1)
    largest = ["vca", "rbf_sampler", "polynomial_count_sketch", "KNeighborsClassifier"]
    assert means.nlargest(4).index.tolist() == largest


def test_the_suite_tuning_has_every_method_of_comparison_as_it_is_and_tuned():
    experiments = load_suite(SUITES / "tuning.yaml").experiments
    tables = load_suite(SUITES / "comparison.yaml").experiments
    for name, found in experiments.items():
        expected = tables[name]
        assert found.validation == expected.validation
        assert (found.time_limit, found.dataset) == (expected.time_limit, expected.dataset)
        plain = {key: spec for key, spec in found.methods.items() if not key.endswith("_tuned")}
        assert {key: spec.steps for key, spec in plain.items()} == {
            key: spec.steps for key, spec in expected.methods.items()
        }
        assert not any(spec.grid for spec in plain.values())
        for key, spec in expected.methods.items():
            tuned = found.methods[f"{key}_tuned" if spec.grid else key]
            assert (tuned.steps, tuned.grid) == (spec.steps, spec.grid)
            both = {"LogisticRegression"} if spec.grid else {"LogisticRegression", "LogisticRegression_tuned"}
            assert set(found.classifiers_of(key)) >= both
        for key, spec in expected.classifiers.items():
            tuned = found.classifiers[f"{key}_tuned" if spec.grid else key]
            assert (tuned.component, tuned.params, tuned.grid) == (spec.component, spec.params, spec.grid)
            assert not found.classifiers[key].grid
