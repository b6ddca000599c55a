"""An experiment on multilabel data, from its plan to its record, without the workflow around it."""

from types import SimpleNamespace

import numpy as np
import pytest
from eigenbench.experiments.code_hash import unit_code_hash
from eigenbench.experiments.parts import holdout_split
from eigenbench.experiments.stages import StageRunner, select_candidate
from eigenbench.experiments.workspace import Workspace
from scipy.sparse import csr_array
from sklearn.metrics import f1_score

from eigenbench.atomic_files import write_json
from eigenbench.datasets import load_catalogue
from eigenbench.experiments import stages
from eigenbench.experiments.model_file import load_model
from eigenbench.experiments.plan import make_plan, plan_suite
from eigenbench.experiments.suite import Suite, SuiteError
from eigenbench.experiments.suite_file import check_parameters

N_LABELS = 6


def suite(dataset="bibtex", **changes):
    experiment = {
        "dataset": dataset,
        "methods": {"identity": {}},
        "classifiers": {"OneVsRestLogistic": {"grid": {"C": [0.01, 1.0]}}},
        "validation": {"metric": "micro_f1", "fraction": 0.25},
    }
    return Suite.model_validate({"name": "s", "title": "t", "experiments": {"main": experiment | changes}})


@pytest.fixture
def data(monkeypatch):
    """A dataset of six labels, four of which the inputs tell something of."""
    generator = np.random.default_rng(0)

    def rows(n):
        X = generator.normal(size=(n, 4))
        latent = X @ np.eye(4, N_LABELS) + 0.7 * generator.normal(size=(n, N_LABELS)) - 1
        return X.astype(np.float32), csr_array((latent > 0).astype(np.uint8))

    X_train, y_train = rows(400)
    X_test, y_test = rows(200)
    dataset = SimpleNamespace(
        X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, classes=list("abcdef")
    )
    monkeypatch.setattr(stages, "open_prepared", lambda folder, split_seed: dataset)
    return dataset


@pytest.fixture
def run(data, tmp_path):
    """Run the tasks of a plan's only cell in order; return the workspace, the cell and the reports."""

    def run_all(plan):
        workspace = Workspace(tmp_path)
        runner = StageRunner(workspace, {"bibtex": tmp_path})
        (cell,) = plan.cells
        reports = {}
        for unit in plan.behind(cell):
            for task in unit.tasks:
                outcome = {"status": "ok"} | runner.run(task)
                write_json(workspace.artifact(task) / "meta.json", outcome | {"files": {}})
                reports[task.key] = outcome
        return workspace, cell, reports

    return run_all


def test_the_thresholds_of_the_test_are_the_validation_rows(run, data):
    workspace, cell, reports = run(make_plan(suite(), {"bibtex": False}))
    selection, final = reports[cell.select.key], reports[cell.final.key]
    assert final["thresholds"] == selection["thresholds"]
    best = cell.select.spec["candidates"][selection["selected"]]
    assert selection["candidates"][selection["selected"]]["score"] == max(
        candidate["score"] for candidate in selection["candidates"]
    )
    fit, validation = holdout_split(data.y_train, 0.25, 0)
    searched = next(need for need in cell.select.needs if need.key == best["evaluate"])
    model = load_model(workspace.artifact(searched.needs[0]) / "model.skops")
    probabilities = model.predict_proba(data.X_train[validation])
    truth = data.y_train[validation].toarray()
    qualities = [f1_score(truth, probabilities >= t / 100, average="micro") for t in range(1, 100)]
    assert final["thresholds"]["micro_f1"] == pytest.approx((1 + np.argmax(qualities)) / 100)
    assert len(fit) == 300


def test_the_test_metrics_are_those_of_the_model_fitted_to_all_rows(run, data):
    workspace, cell, reports = run(make_plan(suite(), {"bibtex": False}))
    final = reports[cell.final.key]
    model = load_model(workspace.artifact(cell.train) / "model.skops")
    decided = model.predict_proba(data.X_test) >= final["thresholds"]["micro_f1"]
    truth = data.y_test.toarray()
    assert final["metrics"]["micro_f1"] == pytest.approx(f1_score(truth, decided, average="micro"))
    assert "confusion" not in final


def test_without_a_grid_the_thresholds_are_chosen_all_the_same():
    plan = make_plan(suite(classifiers=["OneVsRestLogistic"]), {"bibtex": False})
    (cell,) = plan.cells
    assert len(cell.select.needs) == 1
    assert cell.select.needs[0].spec["part"]["name"] == "validation"
    assert {need.stage for need in cell.final.needs} == {"train", "select"}


@pytest.mark.parametrize(
    ("metric", "scores", "chosen"), [("hamming_loss", [3, 1], 1), ("macro_f1", [3, 1], 0)]
)
def test_the_better_candidate_is_chosen_whichever_way_the_metric_goes(metric, scores, chosen):
    candidates = [{"params": {}, "evaluate": str(number)} for number in range(2)]
    metas = {
        str(number): {"status": "ok", "metrics": {metric: score}, "thresholds": {metric: number / 10}}
        for number, score in enumerate(scores)
    }
    task = SimpleNamespace(spec={"metric": metric, "candidates": candidates})
    selection = select_candidate(task, metas)
    assert selection["selected"] == chosen
    assert selection["thresholds"] == {metric: chosen / 10}


@pytest.mark.parametrize(
    ("dataset", "metric", "known"), [("bibtex", "error", "micro_f1"), ("mnist", "micro_f1", "log_loss")]
)
def test_a_metric_that_does_not_suit_the_targets_is_refused(dataset, metric, known):
    with pytest.raises(SuiteError, match=rf"main\.validation\.metric: '{metric}' does not suit .*{known}"):
        plan_suite(suite(dataset, validation={"metric": metric}), load_catalogue())


def test_an_unknown_metric_names_the_nearest():
    with pytest.raises(ValueError, match=r"unknown metric 'micro_f2'\. Did you mean 'micro_f1'"):
        suite(validation={"metric": "micro_f2"})


def test_the_embedding_inside_a_classifier_is_part_of_its_code():
    def code(embedding):
        classifier = {"LabelEmbeddingClassifier": {"params": {"embedding": embedding}}}
        plan = make_plan(suite(classifiers=classifier), {"bibtex": False})
        return unit_code_hash(next(unit for unit in plan.units.values() if unit.stage == "train"))

    assert code({"CompressedSensing": {"n_components": 5}}) != code({"PLST": {"n_components": 5}})


def test_a_wrong_parameter_of_an_embedding_inside_a_classifier_is_named(tmp_path):
    grid = {"embedding": [{"PLST": {"n_components": 5}}, {"PLST": {"n_componets": 5}}]}
    with pytest.raises(
        SuiteError, match=r"PLST has no parameter 'n_componets'\. Did you mean 'n_components'"
    ):
        check_parameters(suite(classifiers={"LabelEmbeddingClassifier": {"grid": grid}}), tmp_path)
