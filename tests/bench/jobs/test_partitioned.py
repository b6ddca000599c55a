"""Methods on training rows in partitions find what they find on the same rows in memory."""

import numpy as np
import pytest
import yaml
from small_jobs import Jobs

from eigenbench import SignedPowers
from eigenbench.atomic_files import write_json
from eigenbench.bench.jobs.pipelines import fit_features
from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.jobs.train import fit_classifier
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite import Suite
from eigenbench.datasets import prepare
from eigenbench.datasets.catalogue import load_with_own

pytestmark = pytest.mark.workflow

D, N_CLASSES = 6, 4

METHODS = {
    "raw": [],
    "gem": [{"GEM": {"top": 2}}, "SignedPowers"],
    "deep": [{"GEM": {"top": 1}}, "SignedPowers", "StandardScaler", {"GEM": {"top": 1}}],
    "lda": ["StandardScaler", "FisherLDA"],
    "rembrandt": [{"Rembrandt": {"n_components": 3}}],
    "sketch": ["Normalizer", {"TensorSketch": {"n_components": 16}}],
}
CLASSIFIERS = {
    "CalibratedLeastSquares": {},
    "SecondOrderLogistic": {"params": {"C": 1.0, "early_stopping": False}},
    "StochasticLogistic": {"params": {"few_rows": 0}},
}

#: Of the log loss; the last draws other rows to hold out and to take steps on.
TOLERANCES = {"CalibratedLeastSquares": 1e-4, "SecondOrderLogistic": 2e-3, "StochasticLogistic": 0.1}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Rows prepared twice: in memory as ``whole``, and in eight files of which six are for training."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "rows").mkdir()
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, 480)
    X = (rng.normal(size=(480, D)) + 2.5 * np.eye(N_CLASSES, D)[y]).astype(np.float32)
    for number, part in enumerate(np.split(np.arange(480), 8)):
        name = f"{'train' if number < 6 else 'test'}-{number}.npy"
        np.save(folder / "rows" / name, np.column_stack([X[part], y[part]]))
    np.savez(folder / "whole.npz", X=X, y=y)
    common = {"title": "t", "expect": {"features": D, "classes": N_CLASSES}}
    whole = {
        **common,
        "format": {"reader": "arrays"},
        "parts": {"all": ["whole.npz"]},
        "split": {"kind": "first", "n_train": 360},
        "expect": {**common["expect"], "rows": {"all": 480}},
        "files": {"whole.npz": {"sources": [{"path": "whole.npz"}]}},
    }
    cut = {
        **common,
        "format": {"reader": "partitions"},
        "parts": {"train": ["train"], "test": ["test"]},
        "expect": {**common["expect"], "rows": {"train": 360, "test": 120}},
        "files": {part: {"sources": [{"partitions": f"rows/{part}-*.npy"}]} for part in ("train", "test")},
    }
    (folder / "datasets.yaml").write_text(yaml.safe_dump({"datasets": {"whole": whole, "cut": cut}}))
    catalogue = load_with_own(folder)
    for name in ("whole", "cut"):
        card = prepare(name, data_dir=folder, catalogue=catalogue, progress=False)
        state = {"dataset": name, "status": "ok", "failure": None, "card": card.model_dump(mode="json")}
        write_json(folder / "prepared" / f"{name}.json", state)
    return folder, catalogue


def planned(catalogue, dataset, methods=METHODS, classifiers=CLASSIFIERS, **changes):
    experiment = {
        "dataset": dataset,
        "methods": {name: {"steps": steps} for name, steps in methods.items()},
        "classifiers": classifiers,
    }
    suite = Suite.model_validate(
        {"name": dataset, "title": "t", "experiments": {"main": experiment | changes}}
    )
    return {method.spec.method: method for method in plan_suite(suite, catalogue).methods}


@pytest.mark.parametrize("method", METHODS)
def test_partitions_give_what_rows_in_memory_give(data, method, tmp_path):
    folder, catalogue = data
    jobs = Jobs(folder, tmp_path)
    # Features reach all classifiers by the same way: two methods are enough for the others.
    classifiers = CLASSIFIERS if method in ("raw", "deep") else ["CalibratedLeastSquares"]
    whole = jobs.run(planned(catalogue, "whole", classifiers=classifiers)[method])
    cut = jobs.run(planned(catalogue, "cut", classifiers=classifiers)[method])
    for classifier, record in cut.items():
        assert record.status == "ok", record.failure
        expected = whole[classifier]
        assert record.dimension == expected.dimension
        loss = pytest.approx(expected.metrics["test_log_loss"], abs=TOLERANCES[classifier])
        assert record.metrics["test_log_loss"] == loss
    info = cut["CalibratedLeastSquares"].dataset_info
    assert (info.n_train, info.n_test) == (360, 120)
    assert "rows/train-*.npy" in info.source


def test_the_arrays_of_a_fit_are_never_larger_than_a_file(data, tmp_path, monkeypatch):
    folder, catalogue = data
    sizes = []

    def watched(self, X):
        sizes.append(len(X))
        return transform(self, X)

    transform = SignedPowers.transform
    monkeypatch.setattr(SignedPowers, "transform", watched)
    method = planned(catalogue, "cut", {"gem": METHODS["deep"]}, {"CalibratedLeastSquares": {}})["gem"]
    context = Jobs(folder, tmp_path).context(method.spec)
    X, y = method.spec.rows(context.open(0), "train", 0)
    features = fit_features(method.spec, method.spec.steps, X, y, seed=0)
    step = method.spec.classifiers["CalibratedLeastSquares"].step
    fit_classifier(method.spec, step, features, X, y, 0)
    assert max(sizes) == 60
    assert sum(sizes) >= 4 * 360


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": {"m": ["PCA"]}}, "methods.m: PCA takes all training rows at once"),
        ({"methods": {"m": ["SubclassGEM"]}}, "SubclassGEM takes all training rows at once"),
        ({"methods": {"m": [{"HyperbolicPCA": {}}]}}, "HyperbolicPCA takes all training rows at once"),
        ({"classifiers": {"LogisticRegression": {}}}, "LogisticRegression takes all training rows at once"),
        ({"classifiers": {"LabelEmbeddingClassifier": {}}}, "LabelEmbeddingClassifier takes all"),
        ({"classifiers": {"CalibratedLeastSquares": {"grid": {"ridge": [0.1, 1.0]}}}}, "'grid' needs"),
        (
            {
                "methods": {"m": [{"RandomMaclaurin": {"n_components": 4}}]},
                "classifiers": {},
                "protocol": "kernel_error",
                "settings": {"degree": 2, "sizes": [4]},
            },
            "kernel_error takes all rows at once",
        ),
    ],
)
def test_what_cannot_be_fitted_to_partitions_is_refused_before_work(data, changes, message):
    with pytest.raises(SuiteError, match=rf"{message}.*the rows of cut stay in partitions"):
        planned(data[1], "cut", **{"methods": {"m": []}, **changes})
