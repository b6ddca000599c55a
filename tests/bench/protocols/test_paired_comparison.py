"""Variants against models trained and scored by hand on the same draw."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from eigenbench import GEM, CalibratedLeastSquares, NeighborhoodGEM, RandomDirections
from eigenbench.bench.protocols.paired_comparison import PairedComparisonSettings, measure

VARIANTS = {
    "cube": {"gem__pairs": "hypercube"},
    "random": {"gem__pairs": "uniform"},
    "nearest": {"gem__pairs": "nearest", "gem__n_pairs": 8},
}


@pytest.fixture
def compare(make_trial, digits):
    """Compare variants, unless others are given those above; return the metrics."""

    def run(*steps, seed=0, **settings):
        given = {"variants": VARIANTS, "reference": "cube", "params": {"ridge": 1.0}} | settings
        trial = make_trial(PairedComparisonSettings(**given), *digits)
        return measure(trial(*(steps or [GEM]), seed=seed)).metrics

    return run


def test_errors_and_differences_of_all_variants(compare, digits):
    X, V, y, v = digits
    metrics = compare(seed=2)
    errors = {}
    for name, changes in VARIANTS.items():
        method = make_pipeline(GEM(random_state=2)).set_params(**changes)
        model = CalibratedLeastSquares(1.0, feature_map=method).fit(X, y)
        errors[name] = 1 - model.score(V, v)
        assert metrics[f"error_{name}"] == pytest.approx(errors[name])
        assert metrics[f"features_{name}"] == model.coef_.shape[-1]
    assert metrics["reference_error"] == metrics["error_cube"]
    assert metrics["features_cube"] == metrics["features_random"]
    assert metrics["error_nearest_minus_cube"] == pytest.approx(errors["nearest"] - errors["cube"])
    assert "error_cube_minus_cube" not in metrics


def test_a_variant_may_replace_a_step(compare, digits):
    X, V, y, v = digits
    other, plain = {"gem": {"NeighborhoodGEM": {"top": 3}}}, {"gem": {"GEM": None}}
    variants = {"cube": {}, "other": other, "plain": plain}
    metrics = compare(variants=variants)
    model = CalibratedLeastSquares(1.0, feature_map=NeighborhoodGEM(top=3)).fit(X, y)
    assert metrics["error_other"] == pytest.approx(1 - model.score(V, v))
    assert metrics["features_other"] == 30
    assert metrics["error_plain_minus_cube"] == 0


def test_variants_and_repeats_share_the_draw_of_a_seed(compare):
    few = {"classes": 4, "train_rows": 240}
    twice = compare(variants={"a": {}, "b": {"gem__theta": 0.0}}, reference="a", **few)
    assert twice["error_b_minus_a"] == 0
    assert twice["features_a"] == 4 * 3 * 12
    assert compare(**few) == compare(**few) != compare(seed=1, **few)


def test_a_step_that_a_variant_makes_random_follows_the_seed(compare):
    first, again, *others = (
        compare(RandomDirections, GEM(top=1), classes=9, seed=seed) for seed in (0, 0, 1, 2)
    )
    assert first == again
    assert len({metrics["error_random"] for metrics in (first, *others)}) > 1


def test_test_rows_are_those_of_the_classes_drawn(compare, digits):
    _, V, _, v = digits
    seen = []

    class Watched(GEM):
        def fit(self, X, y):
            seen.append((X, y))
            return super().fit(X, y)

    variants = {"a": {}, "b": {}}
    metrics = compare(Watched, seed=5, variants=variants, reference="b", classes=3, train_rows=150)
    (rows, labels), (again, _) = seen
    assert np.array_equal(rows, again)
    assert len(np.unique(labels)) == 3
    assert len(rows) == 150
    model = CalibratedLeastSquares(1.0, feature_map=GEM()).fit(rows, labels)
    of_classes = np.isin(v, labels)
    expected = 1 - model.score(V[of_classes], v[of_classes])
    assert metrics["error_a"] == pytest.approx(expected)


def test_more_classes_than_there_are_is_an_error(compare):
    with pytest.raises(ValueError, match="11 classes are to be drawn, but there are 10"):
        compare(classes=11)


def test_an_embedding_that_predicts_is_followed_by_the_classifier(compare, digits):
    X, V, y, v = digits
    variants = {"plane": {"lineardiscriminantanalysis__n_components": 2}, "all": {}}
    metrics = compare(LinearDiscriminantAnalysis, variants=variants, reference="all")
    for name, n_components in (("plane", 2), ("all", None)):
        plane = LinearDiscriminantAnalysis(n_components=n_components)
        model = CalibratedLeastSquares(1.0, feature_map=plane).fit(X, y)
        assert metrics[f"error_{name}"] == pytest.approx(1 - model.score(V, v))
        assert metrics[f"features_{name}"] == model.coef_.shape[-1]
