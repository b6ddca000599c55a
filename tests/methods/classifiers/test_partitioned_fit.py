"""Classifiers learn from partitions what they learn from all rows at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss

from eigenbench import GEM, CalibratedLeastSquares, ClassMoments, SecondOrderLogistic, StochasticLogistic
from eigenbench.methods.classifiers import calibrated_least_squares
from eigenbench.methods.linalg.partition_files import PartitionError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c", "d"], dtype="<U20")[rng.integers(0, 4, 900)]
    X = rng.normal(size=(900, 8)) + 2 * np.eye(4, 8)[np.unique(y, return_inverse=True)[1]]
    y[:5] = "only in the first"
    return X, y


def blocks_of(X, y, n=9):
    return [(X[part], y[part]) for part in np.array_split(np.arange(len(y)), n)]


def gem(rows):
    return FrozenEstimator(GEM(top=2).fit_moments(ClassMoments.of_partitions(blocks_of(*rows))))


CLASSIFIERS = [
    CalibratedLeastSquares(),
    CalibratedLeastSquares(10.0, n_rounds=3, fit_intercept=False),
    SecondOrderLogistic(1.0, early_stopping=False, tol=1e-10),
    SecondOrderLogistic(early_stopping=False, tol=1e-10, fit_intercept=False, C=0.1),
]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("with_map", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_partitions_teach_the_same_as_all_rows(rows, classifier, with_map, dtype):
    X, y = rows[0].astype(dtype), rows[1]
    classifier.set_params(feature_map=gem(rows) if with_map else None)
    whole = classifier.fit(X, y)
    expected, curve = whole.predict_proba(X), whole.loss_curve_
    found = classifier.fit_partitions(blocks_of(X, y))
    exact = dtype == np.float64 and isinstance(classifier, CalibratedLeastSquares)
    tolerance = 1e-6 if exact else 2e-3
    assert_array_equal(found.classes_, np.unique(y))
    assert_allclose(found.predict_proba(X), expected, atol=tolerance)
    assert found.loss_curve_[-1] == pytest.approx(curve[-1], abs=1e-6 if dtype == np.float64 else 1e-4)
    assert found.n_features_in_ == 8


def test_held_out_rows_of_every_partition_stop_the_fit(rows):
    X, y = rows
    noise = np.random.default_rng(1).normal(size=(900, 60))
    wide = np.hstack([X, noise])
    model = SecondOrderLogistic(C=1e4, random_state=0)
    found = model.fit_partitions(blocks_of(wide, y))
    assert np.isfinite(found.validation_curve_).all()
    assert found.validation_curve_.argmin() == found.best_iter_
    assert_array_equal(model.fit_partitions(blocks_of(wide, y)).coef_, found.coef_)
    assert found.score(wide, y) > 0.8


@pytest.mark.parametrize("classifier", [CLASSIFIERS[0], CLASSIFIERS[2]], ids=str)
def test_what_cannot_be_learnt_is_said(rows, classifier):
    X, y = rows
    classifier.set_params(feature_map=GEM())
    with pytest.raises(NotFittedError, match="has to be fitted before fit_partitions"):
        classifier.fit_partitions(blocks_of(X, y))
    classifier.set_params(feature_map=None)
    with pytest.raises(ValueError, match="one class only"):
        classifier.fit_partitions([(X, np.zeros(len(X), int))])
    with pytest.raises(PartitionError, match="block 1: X has 3 features, but other partitions have 8"):
        classifier.fit_partitions([(X, y), (X[:, :3], y)])
    with pytest.raises(PartitionError, match="block 1: labels of type int64 cannot be combined"):
        classifier.fit_partitions([(X, y), (X, np.arange(len(y)) % 3)])
    with pytest.raises(PartitionError, match=r"block 1: .*NaN"):
        classifier.fit_partitions([(X, y), (X * np.nan, y)])


def test_labels_that_come_later_are_noticed(rows):
    X, y = rows
    labels = y.copy()

    class Changing:
        name = "changing"
        passes = 0

        def __call__(self):
            self.passes += 1
            yield X, labels if self.passes == 1 else np.where(labels == "a", "new", labels)

    from eigenbench.methods.linalg.partitions import Partitions

    with pytest.raises(PartitionError, match=r"changing: label .*new.* was not there in the first pass"):
        CalibratedLeastSquares().fit_partitions(Partitions([Changing()]))


@pytest.mark.parametrize("kind", [CalibratedLeastSquares, SecondOrderLogistic])
def test_class_weights_of_partitions_are_refused(kind):
    with pytest.raises(ValueError, match="fit_partitions does not take class_weight"):
        kind(class_weight={0: 2.0}).fit_partitions([(np.eye(2), np.array([0, 1]))])


def test_ridge_and_calibration_of_more_rows_than_are_kept(monkeypatch):
    """Samples of partitions are others than those of rows: the models agree as far as that matters."""
    monkeypatch.setattr(calibrated_least_squares, "affordable_rows", lambda n_features, products: 400)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 3000)
    X = rng.normal(size=(3000, 8)) + 1.5 * np.eye(4, 8)[y]
    model = CalibratedLeastSquares()
    whole = log_loss(y[2000:], model.fit(X[:2000], y[:2000]).predict_proba(X[2000:]))
    found = model.fit_partitions(blocks_of(X[:2000], y[:2000]))
    assert log_loss(y[2000:], found.predict_proba(X[2000:])) == pytest.approx(whole, abs=0.03)


def test_many_classes_in_partitions():
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 60
    X = 3 * rng.normal(size=(60, 20))[y] + rng.normal(size=(3000, 20))
    model = CalibratedLeastSquares()
    whole = model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    found = model.fit_partitions(blocks_of(X[:2000], y[:2000]))
    assert found.coef_.shape == (1, 60, 20)
    assert found.score(X[2000:], y[2000:]) == pytest.approx(whole, abs=0.02)
    assert found.predict_proba(X).min() > 0


class Given(np.random.RandomState):
    """Gives rows in a stated order in each of its epochs."""

    def __init__(self, orders):
        super().__init__(0)
        self.orders = iter(orders)

    def permutation(self, n):
        return next(self.orders)


@pytest.mark.parametrize("with_map", [False, True])
@pytest.mark.parametrize("megabytes", [1000, 0.02], ids=["whole", "parts"])
def test_stochastic_steps_over_partitions_are_those_over_the_rows_in_the_same_order(
    rows, with_map, megabytes
):
    X, y = rows
    settings = {"early_stopping": False, "max_iter": 2, "batch_size": 37}
    settings["feature_map"] = gem(rows) if with_map else None
    blocks = blocks_of(X, y)
    orders = order_of([len(labels) for _, labels in blocks], X[:1].nbytes, megabytes, batch_size=37, epochs=2)
    expected = StochasticLogistic(**settings, random_state=Given(orders)).fit(X, y)
    found = StochasticLogistic(**settings, cache_size=megabytes, random_state=3).fit_partitions(blocks)
    assert_array_equal(found.classes_, expected.classes_)
    assert_allclose(found.loss_curve_, expected.loss_curve_, rtol=1e-6)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-5, atol=1e-7)


def order_of(sizes, bytes_per_row, megabytes, *, batch_size, epochs):
    """Draw anew the order that seed 3 gives: of the partitions, and within each part that is held."""
    rng, starts = np.random.RandomState(3), np.cumsum([0, *sizes])
    for _ in range(epochs):
        taken, left, part = [], [], []
        order = rng.permutation(len(sizes))
        for place, number in enumerate(order):
            part += range(starts[number], starts[number + 1])
            if len(part) * bytes_per_row < megabytes * 2**20 and place + 1 < len(order):
                continue
            ready = [*left, *np.array(part)[rng.permutation(len(part))]]
            whole = len(ready) - len(ready) % batch_size
            taken, left, part = taken + ready[:whole], ready[whole:], []
        yield np.array(taken + left)


def test_stochastic_steps_stop_by_held_out_rows_and_sample_the_rows(rows):
    X, y = rows
    model = StochasticLogistic(random_state=0, preconditioner_rows=100)
    found = model.fit_partitions(blocks_of(X, y))
    assert found.validation_curve_.argmin() + 1 == found.n_iter_
    assert_array_equal(model.fit_partitions(blocks_of(X, y)).coef_, found.coef_)
    whole = StochasticLogistic(few_rows=0, random_state=0).fit(X, y)
    assert found.score(X, y) == pytest.approx(whole.score(X, y), abs=0.02)
    assert found.validation_curve_.min() == pytest.approx(whole.validation_curve_.min(), abs=0.1)


def test_stochastic_steps_over_sparse_partitions(rows):
    X, y = np.maximum(rows[0], 0), rows[1]
    sparse_blocks = [(sparse.csr_array(part), labels) for part, labels in blocks_of(X, y)]
    model = StochasticLogistic(random_state=0, max_iter=3, early_stopping=False)
    expected = model.fit_partitions(blocks_of(X, y)).coef_
    assert_allclose(model.fit_partitions(sparse_blocks).coef_, expected, rtol=1e-6, atol=1e-9)
