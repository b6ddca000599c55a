"""Learning curves, against estimators fitted by hand."""

from functools import partial

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from eigenbench.bench.protocols.base import Trial
from eigenbench.bench.protocols.learning_curve import LearningCurveSettings, measure


class Remembering(PCA):
    """PCA that remembers the rows that it was fitted on."""

    fitted = ()

    def fit(self, X, y=None):
        type(self).fitted += ((X.copy(), y.copy()),)
        return super().fit(X, y)


@pytest.fixture
def trial_of(make_trial, digits):
    def make(method=Remembering, seed=0, **settings):
        X, V, y, v = digits
        Remembering.fitted = ()
        rows = X.astype(np.float32), V.astype(np.float32)
        return make_trial(LearningCurveSettings(**settings), *rows, y, v)(method, seed=seed)

    return make


def fitted_on():
    return [len(X) for X, _ in Remembering.fitted]


def test_training_sets_are_nested_and_have_their_share_of_each_class(trial_of):
    measure(trial_of(train_rows=(50, 200, 1000)))
    assert fitted_on() == [50, 200, 1000]
    sets = [{row.tobytes() for row in X} for X, _ in Remembering.fitted]
    assert sets[0] <= sets[1] <= sets[2]
    for _, y in Remembering.fitted:
        assert np.ptp(np.bincount(y, minlength=10)) <= max(2, 0.1 * len(y))


def test_errors_are_those_of_the_classifier_fitted_by_hand(trial_of, digits):
    _, V, _, v = digits
    trial = trial_of(train_rows=(100, 400), params={"ridge": 0.1}, test_rows=200)
    outcome = measure(trial)
    for size, (X, y) in zip((100, 400), Remembering.fitted, strict=True):
        model = trial.load("CalibratedLeastSquares")(feature_map=PCA(random_state=0), ridge=0.1).fit(X, y)
        assert outcome.metrics[f"test_error_at_{size}"] == pytest.approx(1 - model.score(V[:200], v[:200]))
    assert [size for size, _ in outcome.curves["test_error_by_training_rows"]] == [100, 400]
    assert [size for size, _ in outcome.curves["seconds_by_training_rows"]] == [100, 400]
    assert outcome.dimension == 64


def searching(trial, seed=0, first=None):
    """Return a trial that chooses the number of components; ``first`` are the metrics of the first seed."""

    def build(**last):
        return trial.build(n_components={"choose": [1, 20]}, **last)

    return Trial(trial.settings, build, trial.load, trial.data, seed, {0: first}.__getitem__)


def test_parameters_are_chosen_on_training_rows_of_the_first_seed(trial_of):
    trial = trial_of(train_rows=(400, 800), search_rows=200)
    first = measure(searching(trial))
    assert fitted_on() == [150, 150, 400, 800]
    assert first.metrics["chosen_remembering__n_components"] == 20
    assert first.metrics["candidates"] == 2
    assert first.dimension == 20
    Remembering.fitted = ()
    second = measure(searching(trial, seed=1, first=first.metrics))
    assert fitted_on() == [400, 800]
    assert second.metrics["chosen_remembering__n_components"] == 20
    assert first.search_seconds >= first.metrics["search_seconds"]
    assert second.search_seconds is None
    with pytest.raises(ValueError, match="seed 0 has chosen no parameters"):
        measure(searching(trial, seed=1, first={}))


def test_classes_at_equal_rows_per_class(trial_of):
    outcome = measure(trial_of(classes=(2, 5, 10), rows_per_class=30))
    assert fitted_on() == [60, 150, 300]
    for n_classes, (_, y) in zip((2, 5, 10), Remembering.fitted, strict=True):
        assert np.unique(y, return_counts=True)[1].tolist() == [30] * n_classes
    assert outcome.metrics["test_error_at_2"] < outcome.metrics["test_error_at_10"]


def test_inputs_of_images_are_means_of_blocks(trial_of, digits):
    measure(trial_of(train_rows=(400,), image=(8, 8), block=2))
    ((X, _),) = Remembering.fitted
    assert X.shape == (400, 16)
    means = digits[0].reshape(-1, 8, 8)[:, 2:4, 4:6].mean(axis=(1, 2))
    assert np.isin(X[:, 6], means).all()
    with pytest.raises(ValueError, match="'image' has 16 pixels, and rows have 64 inputs"):
        measure(trial_of(train_rows=(400,), image=(4, 4), block=2))


def test_later_seeds_leave_out_the_large_sizes(trial_of):
    settings = {"train_rows": (50, 200), "seeds_per_size": (3, 1)}
    assert "test_error_at_200" in measure(trial_of(seed=0, **settings)).metrics
    assert "test_error_at_200" not in measure(trial_of(seed=1, **settings)).metrics


def test_a_method_that_classifies_is_trained_as_it_is(trial_of, digits):
    X, V, y, v = digits
    machine = partial(LogisticRegression, C=0.1, max_iter=1000)
    outcome = measure(trial_of(machine, train_rows=(1000,)))
    expected = 1 - machine().fit(X, y).score(V, v)
    assert outcome.metrics["test_error_at_1000"] == pytest.approx(expected, abs=0.005)


class Unstable(PCA):
    """PCA that cannot be fitted to 200 rows, or to fewer than 100."""

    def fit(self, X, y=None):
        if len(X) == 200 or len(X) < 100:
            raise np.linalg.LinAlgError("no solution")
        return super().fit(X, y)


def test_a_size_at_which_the_method_fails_is_left_out_and_named(trial_of):
    outcome = measure(trial_of(Unstable, train_rows=(100, 200, 400)))
    assert outcome.metrics["failed_at_200"] == 1
    assert outcome.warnings == ["no result at 200: no solution"]
    assert [size for size, _ in outcome.curves["test_error_by_training_rows"]] == [100, 400]
    with pytest.raises(np.linalg.LinAlgError, match="no solution"):
        measure(trial_of(Unstable, train_rows=(50, 80)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"train_rows": (100, 5000)}, "'train_rows' go to 5000, and there are 1000 training rows"),
        ({"classes": (2,), "rows_per_class": 500}, "'rows_per_class' is 500, and class"),
    ],
)
def test_more_than_there_is(trial_of, settings, message):
    with pytest.raises(ValueError, match=message):
        measure(trial_of(**settings))
