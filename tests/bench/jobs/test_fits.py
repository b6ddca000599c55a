"""Jobs that embed, search, train, test and measure: what they leave, and what their records say."""

import json
import os
import re
import signal
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from small_jobs import methods_of, plan_of, suite_of

from eigenbench.bench.jobs import train
from eigenbench.bench.jobs.job_context import JobContext
from eigenbench.bench.jobs.train import select
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.datasets import open_prepared
from eigenbench.datasets.errors import AlteredData
from eigenbench.methods.model_file import load_model

pytestmark = pytest.mark.workflow

GEM = {"steps": [{"GEM": {"top": 1}}, "SignedPowers"]}
CLASSIFIER = "CalibratedLeastSquares"
METHOD_GRID = {"grid": {"gem__top": [1, 2]}}
CLASSIFIER_GRID = {CLASSIFIER: {"grid": {"ridge": [0.1, 10.0]}}}

KINDS = {
    "plain": {"methods": {"m": GEM}},
    "method_grid": {"methods": {"m": GEM | METHOD_GRID}},
    "classifier_grid": {"methods": {"m": GEM}, "classifiers": CLASSIFIER_GRID},
    "both_grids": {"methods": {"m": GEM | METHOD_GRID}, "classifiers": CLASSIFIER_GRID},
    "no_steps": {"methods": {"m": {}}},
    "no_steps_grid": {"methods": {"m": {}}, "classifiers": CLASSIFIER_GRID},
    "not_streaming": {"methods": {"m": GEM}, "classifiers": ["LogisticRegression"]},
}
CANDIDATES = {"method_grid": 2, "classifier_grid": 2, "both_grids": 4, "no_steps_grid": 2}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dataset", ["digits", "mnist"])
def test_a_trained_run_says_what_it_was(jobs, kind, dataset):
    method = plan_of(dataset=dataset, seeds=[3], **KINDS[kind])
    ((classifier, record),) = jobs.run(method, seed=3).items()
    assert record.status == "ok", record.failure
    (run,) = method.runs
    assert (record.run_key, record.seed, record.classifier) == (run.key, 3, classifier)
    assert jobs.folder(method, classifier, 3) == jobs.results / run.folder
    assert record.deterministic == (dataset == "mnist" and kind in ("plain", "no_steps", "not_streaming"))
    assert len(record.search.candidates if record.search else ()) == CANDIDATES.get(kind, 0)
    data = open_prepared(jobs.data / "prepared" / dataset, split_seed=3 if dataset == "digits" else 0)
    folder = jobs.folder(method, classifier, 3)
    model = load_model(folder / "model.skops")
    assert record.metrics["test_error"] == pytest.approx(
        1 - accuracy_score(data.y_test, model.predict(data.X_test))
    )
    with np.load(folder / "predictions.npz", allow_pickle=False) as predictions:
        np.testing.assert_array_equal(predictions["predicted"], model.predict(data.X_test))
    assert record.model.path == f"{run.folder}/model.skops"
    assert record.model.bytes == (folder / "model.skops").stat().st_size
    if kind == "not_streaming":
        assert record.dimension == model[:-1].transform(data.X_test).shape[1]
    assert record.environment.code_hash == "0" * 16
    assert record.train_seconds > 0
    assert record.peak_rss_mb > 1


@pytest.mark.parametrize("kind", CANDIDATES)
def test_a_search_chooses_what_the_same_fits_by_hand_would(jobs, kind):
    method = plan_of(dataset="mnist", **KINDS[kind])
    record = jobs.run(method)[CLASSIFIER]
    scores = [candidate.score for candidate in record.search.candidates]
    assert record.search.selected == int(np.argmin(scores))
    chosen = record.search.candidates[record.search.selected]
    assert chosen.params.items() <= record.params.items()
    assert record.metrics["validation_error"] == chosen.score
    data = open_prepared(jobs.data / "prepared" / "mnist")
    rows = {name: method.spec.rows(data, name, 0) for name in ("fit", "validation")}
    for candidate, point in zip(record.search.candidates, method.spec.points(CLASSIFIER), strict=True):
        assert candidate.params == point.params
        top = point.params.get("gem__top", 1)
        steps = [{"GEM": {"top": top}}, "SignedPowers"] if method.spec.steps else []
        alone = plan_of(methods={"m": {"steps": steps}}).spec
        features, _ = train.embed(alone, alone.steps, *rows["fit"], 0)
        _, step = train.with_candidate(method.spec, CLASSIFIER, point.params)
        model, _ = train.fit_classifier(method.spec, step, features, *rows["fit"], 0)
        X, y = rows["validation"]
        assert candidate.score == pytest.approx(1 - accuracy_score(y, model.predict(X)))


def test_the_test_rows_do_not_change_what_is_chosen_or_fitted(jobs, monkeypatch):
    method = plan_of(dataset="mnist", **KINDS["both_grids"])
    first = jobs.run(method)[CLASSIFIER]
    model = load_model(jobs.folder(method, CLASSIFIER) / "model.skops")
    data = open_prepared(jobs.data / "prepared" / "mnist")
    monkeypatch.setattr(JobContext, "open", lambda *args: replace(data, X_test=data.X_test[::-1]))
    second = jobs.run(method)[CLASSIFIER]
    assert second.search == first.search
    assert second.metrics["test_error"] > first.metrics["test_error"]
    again = load_model(jobs.folder(method, CLASSIFIER) / "model.skops")
    X = data.X_train
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("experiment", "said"),
    [
        ({"methods": {"m": {"steps": [{"GEM": {"gamma": -1}}]}}}, "gamma"),
        ({"classifiers": {CLASSIFIER: {"params": {"ridge": -1.0}}}}, "ridge"),
        ({"methods": {"m": {}}, "classifiers": {CLASSIFIER: {"params": {"ridge": -1.0}}}}, "ridge"),
        ({"classifiers": {CLASSIFIER: {"grid": {"ridge": [-1.0, -2.0]}}}}, "no candidate of the .*ridge"),
        ({"methods": {"m": {"steps": ["GEM"], "grid": {"gem__gamma": [-1.0]}}}}, "no candidate .*gamma"),
    ],
)
def test_a_failure_is_recorded_with_its_stage_and_all_files_are_there(jobs, experiment, said):
    method = plan_of(**experiment)
    record = jobs.run(method)[CLASSIFIER]
    assert record.status == "failed"
    assert record.failure.stage == "train"
    assert record.failure.log.endswith("job.log")
    assert re.search(said, record.failure.message)
    assert record.metrics == {}
    names = {path.name for path in jobs.folder(method, CLASSIFIER).iterdir()}
    assert names == {"record.json", "model.skops", "predictions.npz"}
    assert record.model is None


def test_a_candidate_that_fails_leaves_the_others(jobs):
    method = plan_of(
        methods={"m": {"steps": ["GEM"], "grid": {"gem__gamma": [-1.0, 0.1]}}},
        classifiers={CLASSIFIER: {"grid": {"ridge": [-1.0, 1.0]}}},
    )
    record = jobs.run(method)[CLASSIFIER]
    assert record.status == "ok"
    statuses = [candidate.status for candidate in record.search.candidates]
    assert statuses == ["failed", "failed", "failed", "ok"]
    assert record.search.selected == 3


def test_a_killed_search_is_the_failure_of_the_run(jobs, monkeypatch):
    monkeypatch.setattr(train, "fit_classifier", lambda *args: os.kill(os.getpid(), signal.SIGKILL))
    record = jobs.run(plan_of(classifiers=CLASSIFIER_GRID))[CLASSIFIER]
    assert (record.status, record.failure.stage, record.failure.type) == ("failed", "search", "Killed")


def test_a_run_that_predicts_a_single_class_is_marked(jobs):
    dummy = {"dummy": {"component": "DummyClassifier", "params": {"strategy": "most_frequent"}}}
    record = jobs.run(plan_of(classifiers={**dummy, CLASSIFIER: {}}))
    assert len(record["dummy"].warnings) == 1
    assert "every test row was predicted to be of class" in record["dummy"].warnings[0]
    assert record[CLASSIFIER].warnings == []
    assert record[CLASSIFIER].files.keys() == {"model.skops", "predictions.npz"}


def test_the_first_seed_and_classifier_have_pictures_of_the_embedding(jobs):
    method = plan_of(methods={"m": GEM}, classifiers=[CLASSIFIER, "LogisticRegression"], seeds=[3, 4])
    first, second = jobs.run(method, seed=3), jobs.run(method, seed=4)
    kinds = {exhibit.kind for exhibit in first[CLASSIFIER].exhibits}
    assert "scatter" in kinds
    assert "spectrum_by_component" in first[CLASSIFIER].curves
    others = (first["LogisticRegression"], *second.values())
    assert [one.exhibits for one in others] == [[]] * 3


def test_the_first_declared_candidate_wins_a_tie():
    candidates = [{"score": score, "reason": None} for score in (None, 3.0, 1.0, 1.0, 3.0)]
    assert select(candidates, higher_is_better=False) == 2
    assert select(candidates, higher_is_better=True) == 1


def test_a_dataset_that_is_not_there_makes_the_runs_not_run(jobs):
    failure = {"stage": "download", "type": "DatasetUnavailable", "message": "no source", "log": None}
    state = {"dataset": "digits", "status": "not_run", "failure": failure, "card": None}
    (jobs.own_data() / "prepared" / "digits.json").write_text(json.dumps(state))
    for name, record in jobs.run(
        plan_of(classifiers={CLASSIFIER: {}, "LinearSVC": {"grid": {"C": [1.0]}}})
    ).items():
        assert record.classifier == name
        assert record.status == "not_run"
        assert record.failure.model_dump() == failure
        assert record.dataset_info is None


def test_a_package_that_is_not_there_makes_the_runs_not_run(jobs):
    method = plan_of()
    components = {
        name: replace(item, module="eigenbench_has_no_such_module", extra="peers")
        for name, item in method.spec.components.items()
    }
    spec = method.spec.model_copy(update={"components": components})
    record = jobs.run(replace(method, spec=spec))[CLASSIFIER]
    assert (record.status, record.failure.stage) == ("not_run", "import")
    assert "pip install 'eigenbench[peers]'" in record.failure.message
    assert not record.deterministic


def test_altered_data_stop_the_job_before_any_fit(jobs):
    path = jobs.own_data() / "prepared" / "digits" / "X_all.npy"
    X = np.load(path)
    np.save(path, X[::-1])
    with pytest.raises(AlteredData, match=r"X_all\.npy"):
        jobs.run(plan_of())
    assert not list(jobs.root.rglob("record.json"))


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [("kernel_error", {"degree": 3, "sizes": [8, 16]}), ("sweep", {"sizes": [40, 80]})],
)
def test_a_measured_run_gives_a_record(jobs, protocol, settings):
    method = plan_of(
        protocol=protocol,
        settings=settings,
        methods={"m": {"steps": [{"RandomMaclaurin": {"n_components": 8}}]}},
        classifiers={},
        seeds=[5],
    )
    record = jobs.run(method, seed=5)[NO_CLASSIFIER]
    assert record.status == "ok", record.failure
    assert record.run_key == method.runs[0].key
    assert not record.deterministic
    assert (
        suite_of(protocol=protocol, settings=settings, classifiers={}).experiments["main"].headline
        in record.metrics
    )
    assert jobs.folder(method, seed=5) == jobs.results / method.runs[0].folder


def test_a_measurement_that_fails_has_its_stage(jobs):
    method = plan_of(
        protocol="kernel_error",
        settings={"degree": 3, "sizes": [8]},
        methods={"m": {"steps": [{"RandomMaclaurin": {"degree": -1}}]}},
        classifiers={},
    )
    record = jobs.run(method)[NO_CLASSIFIER]
    assert (record.status, record.failure.stage) == ("failed", "measure")
    assert [path.name for path in jobs.folder(method).iterdir()] == ["record.json"]


def test_a_job_writes_what_the_plan_says_and_nothing_else(jobs):
    classifiers = {**CLASSIFIER_GRID, "LinearSVC": {}}
    suite = suite_of(methods={"m": GEM | METHOD_GRID, "n": {}}, classifiers=classifiers, seeds=[0, 1])
    planned = set()
    for method in methods_of(suite).values():
        for seed in method.seeds:
            jobs.run(method, seed)
            planned |= {jobs.results / file for file in method.files if f"/seed-{seed}/" in file}
            assert {path for path in jobs.results.rglob("*") if path.is_file()} == planned
