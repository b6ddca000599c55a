"""Model files build nothing but estimators: of scikit-learn and of eigenbench."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import zipfile

import numpy as np
import pytest
import skops.io
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from eigenbench import LabelEmbeddingClassifier, RandomFourierFeatures, Rembrandt
from eigenbench.datasets.catalogue import Catalogue
from eigenbench.methods.embeddings.discriminants.gem import GEM
from eigenbench.methods.embeddings.kernel_features.spherical import SphericalRandomFeatures
from eigenbench.methods.embeddings.signed_powers import SignedPowers
from eigenbench.methods.linalg.row_blocks import row_slices
from eigenbench.methods.model_file import ModelFileError, load_model, save_model
from eigenbench.methods.moments import ClassMoments
from eigenbench.methods.peers.one_vs_rest import OneVsRestLogistic

X = np.random.default_rng(0).normal(size=(60, 5))
Y = np.arange(60) % 3


@pytest.mark.filterwarnings("ignore:Label not 1 is present")
@pytest.mark.parametrize(
    ("model", "labels", "weights"),
    [
        (make_pipeline(GEM(), SignedPowers(), LogisticRegression()), Y, {}),
        (make_pipeline(SphericalRandomFeatures(n_components=32), LogisticRegression()), Y, {}),
        (LabelEmbeddingClassifier(Rembrandt(2), feature_map=RandomFourierFeatures("laplacian")), Y, {}),
        (OneVsRestLogistic(), Y, {"sample_weight": np.arange(60)}),
        (OneVsRestClassifier(LogisticRegression()), np.column_stack([Y == 0, np.zeros(60)]).astype(int), {}),
    ],
    ids=["gem", "spherical", "label embedding", "with weights", "a label without examples"],
)
def test_a_fitted_pipeline_predicts_the_same_again(tmp_path, model, labels, weights):
    save_model(tmp_path / "model.skops", model.fit(X, labels, **weights))
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(Nystroem(n_components=5, random_state=0), LogisticRegression()),
        KNeighborsClassifier(),
        SVC(),
    ],
    ids=["nystroem", "neighbours", "svc"],
)
def test_rows_that_a_model_keeps_may_be_sparse(tmp_path, model):
    rows = csr_array(np.where(X > 0, X, 0))
    save_model(tmp_path / "m.skops", model.fit(rows, Y))
    np.testing.assert_array_equal(load_model(tmp_path / "m.skops").predict(rows), model.predict(rows))


@pytest.mark.parametrize(
    ("inside", "name"),
    [
        (os.system, "posix.system"),
        (row_slices, "eigenbench.methods.linalg.row_blocks.row_slices"),
        (ClassMoments(), "eigenbench.methods.moments.class_moments.ClassMoments"),
        (Catalogue, "eigenbench.datasets.catalogue.Catalogue"),
        (re.compile("x"), "re.Pattern"),
        (subprocess.Popen, "subprocess.Popen"),
    ],
)
def test_any_other_type_is_refused(tmp_path, inside, name):
    path = tmp_path / "model.skops"
    save_model(path, FunctionTransformer(kw_args={"inside": inside}))
    with pytest.raises(
        ModelFileError, match=rf"model\.skops: refused, it holds the types {re.escape(name)}: name"
    ):
        load_model(path)


def forge(path, **changes):
    """Write the file of an estimator with other names in it."""
    content = skops.io.dumps(SignedPowers().fit(X))
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w") as new:
        new.writestr("schema.json", json.dumps(json.loads(old.read("schema.json")) | changes))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *(
            ("eigenbench.methods.embeddings.signed_powers", name)
            for name in ("BaseEstimator", "np", "Absent")
        ),
        ("eigenbench.methods.embeddings.absent", "SignedPowers"),
        ("eigenbench.embeddings_of_others", "SignedPowers"),
        ("eigenbench.bench.records.record", "Record"),
    ],
)
def test_a_forged_name_is_refused(tmp_path, module, name):
    forge(tmp_path / "model.skops", __module__=module, __class__=name)
    with pytest.raises(ModelFileError, match=r"model\.skops: "):
        load_model(tmp_path / "model.skops")


def test_a_model_of_0_1_0_is_refused_in_one_sentence(tmp_path):
    forge(tmp_path / "old.skops", __module__="eigenbench.embeddings.signed_powers", __class__="SignedPowers")
    with pytest.raises(
        ModelFileError, match=r"old\.skops: saved by eigenbench 0\.1\.0, whose type .*SignedPowers has moved"
    ):
        load_model(tmp_path / "old.skops")


@pytest.mark.parametrize("keep", [0, 50, -30])
def test_a_damaged_file_is_named(tmp_path, keep):
    path = tmp_path / "model.skops"
    save_model(path, SignedPowers().fit(X))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelFileError, match=r"model\.skops: not a readable skops model"):
        load_model(path)


def test_a_class_of_the_user_is_refused_without_being_imported(tmp_path, monkeypatch):
    """The names in a file decide what is imported only within the trusted packages."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "users_module.py").write_text("raise AssertionError('imported')")
    forge(tmp_path / "model.skops", __module__="users_module", __class__="Evil")
    with pytest.raises(ModelFileError, match=r"holds the types users_module\.Evil"):
        load_model(tmp_path / "model.skops")


def forged_tree(field, value):
    def forge(classifier):
        state = (tree := classifier.tree_).__getstate__()
        state["nodes"][field][0] = value
        tree.__setstate__(state)

    return forge


def forged_predictor(classifier):
    classifier._predictors[0][0].nodes["right"][0] = 10**6


def forged_neighbours(classifier):
    np.asarray(classifier._tree.get_arrays()[1])[0] = 10**6


def forged_rows(classifier):
    classifier._fit_X.indices[0] = 10**6


@pytest.mark.parametrize(
    ("model", "forged", "said"),
    [
        (DecisionTreeClassifier(), forged_tree("left_child", 10**6), "a Tree in it has an index"),
        (DecisionTreeClassifier(), forged_tree("left_child", -5), "a Tree in it has an index"),
        (DecisionTreeClassifier(), forged_tree("right_child", 0), "a Tree in it has an index"),
        (DecisionTreeClassifier(), forged_tree("feature", 5), "a Tree in it has an index out of bounds"),
        (
            HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=1),
            forged_predictor,
            "a TreePredictor in it",
        ),
        (KNeighborsClassifier(algorithm="kd_tree"), forged_neighbours, "a KDTree in it"),
        (KNeighborsClassifier(), forged_rows, "not a readable skops model"),
    ],
    ids=["tree", "no leaf", "loop", "feature", "boosted", "neighbours", "sparse"],
)
def test_an_index_out_of_bounds_is_refused(tmp_path, model, forged, said):
    """Compiled code follows these indices unchecked, out of the model's memory."""
    path = tmp_path / "model.skops"
    rows = csr_array(np.where(X > 0, X, 0)) if forged is forged_rows else X
    save_model(path, make_pipeline(model.fit(rows, Y)))
    assert list(load_model(path).predict(rows)) == list(model.predict(rows))
    forged(model)
    save_model(path, make_pipeline(model))
    with pytest.raises(ModelFileError, match=rf"model\.skops: .*{said}"):
        load_model(path)


def test_a_file_that_expands_to_hundreds_of_megabytes_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(400 * 10**6))
    assert path.stat().st_size < 400_000
    with pytest.raises(ModelFileError, match=r"model\.skops: refused, its .* bytes expand to 400,000,000"):
        load_model(path)
