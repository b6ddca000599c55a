"""An experiment on multilabel data, from its plan to its record, without the workflow around it."""

import numpy as np
import pytest
from sklearn.metrics import f1_score
from small_jobs import plan_of, suite_of

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.jobs.train import fit_classifier, with_candidate
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.datasets import load_catalogue, open_prepared
from eigenbench.datasets.splits import holdout_split
from eigenbench.methods.model_file import load_model
from eigenbench.reporting.row_metrics import row_metric

pytestmark = pytest.mark.workflow

CLASSIFIER = "OneVsRestLogistic"
EXPERIMENT = {
    "dataset": "bibtex",
    "methods": {"identity": {}},
    "classifiers": {CLASSIFIER: {"grid": {"C": [0.01, 1.0]}}},
    "validation": {"metric": "micro_f1", "fraction": 0.25},
}


@pytest.fixture
def data(jobs):
    return open_prepared(jobs.data / "prepared" / "bibtex")


@pytest.mark.parametrize("classifiers", [EXPERIMENT["classifiers"], [CLASSIFIER]], ids=["grid", "no grid"])
def test_the_thresholds_of_the_test_are_those_of_the_validation_rows(jobs, data, classifiers):
    method = plan_of(**EXPERIMENT | {"classifiers": classifiers})
    record = jobs.run(method)[CLASSIFIER]
    scores = [candidate.score for candidate in record.search.candidates]
    assert scores[record.search.selected] == max(scores)
    best = method.spec.points(CLASSIFIER)[record.search.selected]
    fit, validation = holdout_split(data.y_train, 0.25, 0)
    _, step = with_candidate(method.spec, CLASSIFIER, best.params)
    searched, _ = fit_classifier(method.spec, step, None, data.X_train[fit], data.y_train[fit], 0)
    probabilities = searched.predict_proba(data.X_train[validation])
    truth = data.y_train[validation].toarray()
    qualities = [f1_score(truth, probabilities >= t / 100, average="micro") for t in range(1, 100)]
    threshold = (1 + np.argmax(qualities)) / 100
    assert record.params["threshold__micro_f1"] == pytest.approx(threshold)
    assert scores[record.search.selected] == pytest.approx(max(qualities))
    assert len(fit) == 300
    model = load_model(jobs.folder(method, CLASSIFIER) / "model.skops")
    decided = model.predict_proba(data.X_test) >= threshold
    found = record.metrics["test_micro_f1"]
    assert found == pytest.approx(f1_score(data.y_test.toarray(), decided, average="micro"))
    assert record.confusion is None


def test_the_kept_predictions_give_the_metrics_again(jobs):
    method = plan_of(**EXPERIMENT)
    record = jobs.run(method)[CLASSIFIER]
    with np.load(jobs.folder(method, CLASSIFIER) / "predictions.npz", allow_pickle=False) as arrays:
        for name in ("micro_f1", "macro_f1", "macro_f1_present", "hamming_loss", "micro_f1_at_half"):
            found = row_metric(f"test_{name}", record, arrays).value
            assert found == pytest.approx(record.metrics[f"test_{name}"], abs=1e-9), name
        for k in (1, 3, 5):
            found = row_metric(f"test_precision_at_{k}", record, arrays).value
            assert found == pytest.approx(record.metrics[f"test_precision_at_{k}"])


def test_multilabel_runs_always_search_and_others_only_with_a_grid():
    spec = plan_of(**EXPERIMENT | {"classifiers": [CLASSIFIER]}).spec
    assert spec.searches(CLASSIFIER)
    assert len(spec.points(CLASSIFIER)) == 1
    assert not plan_of().spec.searches("CalibratedLeastSquares")


@pytest.mark.parametrize(
    ("dataset", "metric", "known"), [("bibtex", "error", "labels"), ("mnist", "micro_f1", "classes")]
)
def test_a_metric_that_does_not_suit_the_targets_is_refused(dataset, metric, known):
    suite = suite_of(**EXPERIMENT | {"dataset": dataset, "validation": {"metric": metric}})
    with pytest.raises(SuiteError, match=rf"main\.validation\.metric: '{metric}' does not suit .*{known}"):
        plan_suite(suite, load_catalogue())
