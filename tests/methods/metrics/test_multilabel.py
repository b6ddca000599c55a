import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn.metrics import f1_score, hamming_loss, ndcg_score

from eigenbench.methods.metrics import multilabel
from eigenbench.methods.metrics.multilabel import BY_LABEL, DECISION_METRICS, DecisionScores, score_multilabel
from eigenbench.methods.metrics.ranking import (
    RankingScores,
    TopK,
    hits,
    inverse_propensities,
    predict_top_k,
    top_k,
)

KS = (1, 3, 5)


def problem(n=60, c=9, seed=0):
    """An indicator with an empty row and a label nobody has, and scores that know something of it."""
    generator = np.random.default_rng(seed)
    truth = (generator.random((n, c)) < generator.uniform(0.05, 0.5, c)).astype(np.uint8)
    truth[3] = 0
    truth[:, 4] = 0
    scores = np.round(0.5 * truth + 0.5 * generator.random((n, c)), 6)
    return truth, scores


class Oracle:
    """Predicts given scores; a row of X holds its own number."""

    def __init__(self, scores):
        self.scores = scores

    def predict_proba(self, X):
        return self.scores[X[:, 0]]


def row_numbers(n):
    return np.arange(n)[:, None]


def scored(truth, scores, **options):
    weights = inverse_propensities(truth.sum(axis=0), len(truth))
    X = row_numbers(len(truth))
    return score_multilabel(Oracle(scores), X, csr_array(truth), inverse_propensities=weights, **options)


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 8)), elements=st.integers(0, 3)),
    st.integers(1, 9),
)
def test_top_k_is_a_stable_sort(scores, k):
    best = top_k(scores, k)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(best.labels, order)
    np.testing.assert_array_equal(best.scores, np.take_along_axis(scores, order, axis=1))


@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.integers(0, 1)))
def test_hits_look_labels_up(truth):
    labels = np.tile(np.arange(-1, truth.shape[1]), (len(truth), 1))
    expected = np.column_stack([np.zeros(len(truth), dtype=bool), truth.astype(bool)])
    np.testing.assert_array_equal(hits(csr_array(truth), labels), expected)


@pytest.mark.parametrize("threshold", [0.25, 0.5, 0.9])
def test_decisions_are_those_of_scikit_learn(threshold):
    truth, scores = problem()
    present = np.flatnonzero(truth.any(axis=0))
    assert len(present) < truth.shape[1]
    found = scored(truth, scores, thresholds=dict.fromkeys([*DECISION_METRICS, BY_LABEL], threshold)).metrics
    for suffix, at in (("", threshold), ("_at_half", 0.5)):
        decided = (scores >= at).astype(int)
        assert found[f"hamming_loss{suffix}"] == pytest.approx(hamming_loss(truth, decided))
        for average in ("micro", "macro"):
            expected = f1_score(truth, decided, average=average, zero_division=0)
            assert found[f"{average}_f1{suffix}"] == pytest.approx(expected)
            if not suffix and average == "macro":
                assert found[BY_LABEL] == pytest.approx(expected)
        expected = f1_score(truth, decided, average="macro", labels=present, zero_division=0)
        assert found[f"macro_f1_present{suffix}"] == pytest.approx(expected)


def test_a_threshold_is_the_best_for_its_metric():
    truth, scores = problem()
    result = scored(truth, scores)
    by_hand = {
        "hamming_loss": lambda decided: -hamming_loss(truth, decided),
        "micro_f1": lambda decided: f1_score(truth, decided, average="micro", zero_division=0),
        "macro_f1": lambda decided: f1_score(truth, decided, average="macro", zero_division=0),
    }
    for name, quality in by_hand.items():
        qualities = [quality((scores >= step / 100).astype(int)) for step in range(1, 100)]
        assert result.thresholds[name] == pytest.approx((1 + int(np.argmax(qualities))) / 100)
        assert abs(result.metrics[name]) == pytest.approx(abs(max(qualities)))


def test_thresholds_of_labels_have_the_largest_expected_f1(monkeypatch):
    truth, scores = problem()
    monkeypatch.setattr("eigenbench.methods.metrics.ranking._MOST_ROWS_AT_ONCE", 7)
    result = scored(truth, scores)
    steps = np.arange(1, 100) / 100
    for label, found in enumerate(result.thresholds[BY_LABEL]):
        p = scores[:, label]
        expected = [2 * p[p >= step].sum() / ((p >= step).sum() + p.sum()) for step in steps]
        assert found == pytest.approx(steps[np.argmax(expected)])
    decided = (scores >= result.thresholds[BY_LABEL]).astype(int)
    assert result.metrics[BY_LABEL] == pytest.approx(
        f1_score(truth, decided, average="macro", zero_division=0)
    )


def test_ndcg_is_that_of_scikit_learn():
    truth, scores = problem()
    found = scored(truth, scores).metrics
    for k in KS:
        assert found[f"ndcg_at_{k}"] == pytest.approx(ndcg_score(truth, scores, k=k, ignore_ties=True))


def plain_ranking(truth, scores, weights, k):
    """The definitions, row by row."""
    precision, ps, ps_best, ndcg, ndcg_best = 0.0, 0.0, 0.0, 0.0, 0.0
    for y, s in zip(truth, scores, strict=True):
        order = sorted(range(len(s)), key=lambda label: -s[label])[:k]
        heaviest = sorted((weights[label] for label in np.flatnonzero(y)), reverse=True)[:k]
        precision += sum(y[label] for label in order) / k
        ps += sum(y[label] * weights[label] for label in order) / k
        ps_best += sum(heaviest) / k
        ideal = sum(1 / np.log2(i + 2) for i in range(min(k, y.sum()))) or np.inf
        ndcg += sum(y[label] * weights[label] / np.log2(i + 2) for i, label in enumerate(order)) / ideal
        ndcg_best += sum(weight / np.log2(i + 2) for i, weight in enumerate(heaviest)) / ideal
    return precision / len(truth), ps / ps_best, ndcg / ndcg_best


def test_rankings_follow_their_definitions():
    truth, scores = problem(seed=1)
    weights = inverse_propensities(truth.sum(axis=0), len(truth))
    found = scored(truth, scores).metrics
    for k in KS:
        expected = plain_ranking(truth, scores, weights, k)
        names = (f"precision_at_{k}", f"ps_precision_at_{k}", f"ps_ndcg_at_{k}")
        np.testing.assert_allclose([found[name] for name in names], expected)


def test_blocks_change_nothing(monkeypatch):
    truth, scores = problem()
    whole = scored(truth, scores)
    monkeypatch.setattr("eigenbench.methods.metrics.ranking._MOST_ROWS_AT_ONCE", 7)
    blocks = scored(truth, scores)
    assert whole.thresholds == blocks.thresholds
    for name in whole.metrics.keys() - {"examples_per_second"}:
        assert blocks.metrics[name] == pytest.approx(whole.metrics[name]), name


def test_labels_beyond_the_depth_count_as_not_predicted(monkeypatch):
    truth, scores = problem()
    monkeypatch.setattr(multilabel, "DEPTH", 2)
    kept = np.zeros_like(scores)
    best = np.argsort(-scores, axis=1)[:, :2]
    np.put_along_axis(kept, best, np.take_along_axis(scores, best, axis=1), axis=1)
    found = scored(truth, scores, thresholds=dict.fromkeys([*DECISION_METRICS, BY_LABEL], 0.01))
    assert found.metrics["micro_f1"] == pytest.approx(f1_score(truth, kept >= 0.01, average="micro"))
    assert found.metrics["precision_at_3"] == pytest.approx(truth[np.arange(60)[:, None], best].sum() / 180)


def test_a_model_that_names_its_labels_is_asked_for_no_more():
    class Namer:
        def predict_top_k(self, X, k):
            assert k == 3
            return np.tile([2, 0, -1], (len(X), 1)), np.tile([0.9, 0.5, 0.0], (len(X), 1))

    truth = np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8)
    (block,) = predict_top_k(Namer(), row_numbers(2), 3, 3)
    decisions, ranking = DecisionScores(3), RankingScores((1, 2), np.ones(3))
    for scores in (decisions, ranking):
        scores.update(csr_array(truth), block[1])
    macro = (2 / 3 + 0 + 1) / 3
    expected = {"hamming_loss": 2 / 6, "micro_f1": 6 / 8, "macro_f1": macro, "macro_f1_present": macro}
    at_half = {f"{name}_at_half": value for name, value in expected.items()}
    at_half[BY_LABEL] = macro
    assert decisions.metrics(dict.fromkeys([*DECISION_METRICS, BY_LABEL], 0.5)) == pytest.approx(
        expected | at_half
    )
    assert ranking.metrics()["precision_at_2"] == pytest.approx(3 / 4)


def test_a_model_of_another_shape_is_named():
    with pytest.raises(ValueError, match=r"Oracle.predict_proba gave an array of shape \(2, 2\)"):
        list(predict_top_k(Oracle(np.zeros((2, 2))), row_numbers(2), 1, 3))


def test_no_labels_at_all():
    ranking, decisions = RankingScores((1,), np.ones(2)), DecisionScores(2)
    empty = TopK(np.array([[0], [1]]), np.zeros((2, 1)))
    for scores in (ranking, decisions):
        scores.update(csr_array((2, 2), dtype=np.uint8), empty)
    assert set(ranking.metrics().values()) == {0.0}
    assert decisions.metrics(dict.fromkeys([*DECISION_METRICS, BY_LABEL], 0.5))["micro_f1"] == 0.0
