"""Sentences about learning curves of a user's table: they claim no more than the folds allow."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from eigenbench.own_data.comparison_run import Options, choose
from eigenbench.own_data.more_rows import curve_sentences, curve_sizes
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.table import OwnDataError, table_of


def errors_of(model, X, y):
    """Return the errors of a model, folds x sizes."""
    sizes = curve_sizes(len(y) * 4 // 5)
    lines = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        nested = np.random.default_rng(0).permutation(train)
        fitted = (model.fit(X[nested[:size]], y[nested[:size]]) for size in sizes)
        lines.append([np.mean(one.predict(X[test]) != y[test]) for one in fitted])
    return pd.DataFrame(lines, columns=sizes)


def test_a_table_where_more_rows_must_help_and_one_where_they_cannot():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4_000, 2))
    waves = (np.sin(20 * X[:, 0]) > 0) ^ (np.sin(20 * X[:, 1]) > 0)
    noisy = (X[:, 0] > 0) ^ (rng.random(4_000) < 0.25)
    told = curve_sentences({"knn": errors_of(KNeighborsClassifier(3), X, waves)})
    assert told[0].startswith("Error in % of knn by training rows: ")
    assert told[0].endswith("(3,200).")
    assert told[1].startswith("knn: more rows would help, from 1,600 to 3,200 its error changes by -")
    assert len(told) == 2
    told = curve_sentences({"raw": errors_of(LogisticRegression(), X, noisy)})
    assert told[1].startswith("raw: more rows would hardly help, from 1,600 to 3,200 ")


def curve(*means, n_folds=5, noise=0.002):
    rng = np.random.default_rng(round(1e3 * sum(means)))
    values = np.array(means) + noise * rng.normal(size=(n_folds, len(means)))
    return pd.DataFrame(values, columns=[100, 200, 400, 800])


FLAT, FALLING = (0.20, 0.20, 0.20, 0.20), (0.45, 0.38, 0.30, 0.22)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (FLAT, FALLING, "The order is about to change: b is ahead of a with 1,600 training rows"),
        (FALLING, (0.5, 0.5, 0.5, 0.5), "The order is not about to change: a stays first with 1,600"),
        (FLAT, (0.21, 0.21, 0.203, 0.201), "Which is first with 1,600 training rows"),
    ],
)
def test_the_order_with_twice_the_rows(first, second, told):
    assert curve_sentences({"a": curve(*first), "b": curve(*second)})[-1].startswith(told)


def test_what_folds_do_not_show_is_not_said():
    half, full = [0.20, 0.22, 0.18, 0.21, 0.19], [0.21, 0.19, 0.20, 0.18, 0.20]
    (told,) = curve_sentences({"a": pd.DataFrame({400: half, 800: full})})[1:]
    assert told.startswith("a: these folds do not say whether more rows would help")
    told = curve_sentences({"a": curve(*FLAT, n_folds=3), "b": curve(*FALLING, n_folds=3)})
    assert "b: the folds are too few, or too alike, to say whether more rows would help." in told
    assert told[-1].startswith("Too few folds to say whether the order")


def test_equal_errors_gain_nothing_and_a_curve_without_its_last_sizes_is_named():
    same, lacks, early = curve(*FLAT), curve(*FALLING), curve(*FALLING)
    same[400], lacks.loc[1, 400], early.loc[1, 100] = same[800], np.nan, np.nan
    assert "a: more rows would hardly help, from 400 to 800" in " ".join(curve_sentences({"a": same}))
    assert curve_sentences({"b": lacks})[0].startswith("No learning curve of b: ")
    told = curve_sentences({"a": same, "b": lacks, "c": early})
    assert re.match(r"Error in % of c by training rows: [\d.]+ \(200\), [\d.]+ \(400\)", told[1])
    assert told[-1].startswith("No learning curve of b: ")


@pytest.mark.parametrize(
    ("n", "y", "options", "reason"),
    [
        (90, np.arange(90) % 2, {}, "needs 80 training rows, and there are 72"),
        (200, np.arange(200) / 3, {}, "counts errors of classes"),
        (200, np.arange(200) % 2, {"search": True}, "leave --curve or --search out"),
    ],
)
def test_a_curve_that_cannot_be_fitted_is_refused_before_work(n, y, options, reason):
    problem = make_problem(table_of("X", np.random.default_rng(0).normal(size=(n, 2)), y))
    with pytest.raises(OwnDataError, match=reason):
        choose(problem, Options(curve=True, **options))
