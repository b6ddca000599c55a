"""Components that are not registered: scikit-learn's by name, others by import path and by entry points."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.utils.discovery import all_estimators

from eigenbench.bench import code_hash, registry
from eigenbench.bench.jobs.pipelines import build_pipeline
from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.jobs.shared_jobs import job_code
from eigenbench.bench.jobs.workflow import Workflow
from eigenbench.bench.registry import find_component
from eigenbench.bench.suites.component_checks import check_parameters
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite_file import catalogue_of, load_suite
from eigenbench.methods.model_file import ModelFileError, load_model, save_model

pytestmark = pytest.mark.workflow

SUITE = """
title: Own parts
experiments:
  main:
    dataset: digits
    methods:
      mine:
        steps: [StandardScaler, {{"{name}:Centred": {{scale: 2.0}}}}]
        grid: {{centred__scale: [1.0, 2.0]}}
    classifiers:
      GaussianNB:
      bagged:
        component: BaggingClassifier
        params: {{estimator: {{"{name}:Nearest": {{}}}}, n_estimators: 2}}
      nearest: {{component: "{name}:Nearest"}}
"""

PARTS = '''
"""Parts."""
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

import {name}_helper


class Centred(TransformerMixin, BaseEstimator):
    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y=None):
        self.mean_ = {name}_helper.mean(X)
        return self

    def transform(self, X):
        return (X - self.mean_) / self.scale


class Nearest(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.means_ = np.array([X[codes == k].mean(axis=0) for k in range(len(self.classes_))])
        return self

    def predict(self, X):
        return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]


class Unfinished(BaseEstimator):
    pass


class Broken(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[0]


class Failing(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        raise RuntimeError("not today")

    def transform(self, X):
        return X


def function():
    pass
'''


@pytest.fixture
def parts(tmp_path, request, monkeypatch):
    """A folder with a suite and the module of its parts, whose name is that of no other test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"parts_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(PARTS.format(name=name))
    (tmp_path / f"{name}_helper.py").write_text("def mean(X):\n    return X.mean(axis=0)\n")
    (tmp_path / "mine.yaml").write_text(SUITE.format(name=name))
    return tmp_path / "mine.yaml", name


def test_every_classifier_of_scikit_learn_is_found_by_its_name():
    for name, cls in all_estimators(type_filter="classifier"):
        assert find_component(name).load() is cls


def test_finding_one_imports_nothing():
    code = (
        "import sys; from eigenbench.bench.registry import find_component as f\n"
        "f('ExtraTreesClassifier'), f('a.b:C')\n"
        "assert not {'sklearn', 'numpy', 'a'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parts_beside_a_suite_are_checked_planned_and_built(parts):
    path, name = parts
    suite = load_suite(path, ["digits"])
    check_parameters(suite, path)
    (method,) = plan_suite(suite, catalogue_of(suite)).methods
    spec = type(method.spec).model_validate_json(method.spec.as_json)
    assert {module for module, _ in spec.own_modules} == {name}
    assert spec.components[f"{name}:Centred"].folder == str(path.parent)
    assert spec.components["GaussianNB"].module == "sklearn.naive_bayes"
    assert build_pipeline(spec, 0, {}).steps[1][0] == "centred"
    assert spec.of_run("GaussianNB").key(0, "GaussianNB") == method.spec.key(0, "GaussianNB")


SCALER, NEAREST = "StandardScaler", 'component: "NAME:Nearest"'


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (NEAREST, f"{NEAREST}, params: {{k: 3}}", "classifiers.nearest: NAME:Nearest has no parameter 'k'"),
        (NEAREST, 'component: "NAME:Centred"', "it is no classifier: derive it from sklearn.base"),
        (NEAREST, 'component: "NAME:Nearst"', "has no 'Nearst': name a class of its own. Did you mean 'Nea"),
        (NEAREST, 'component: "NAME:function"', "it is not a class"),
        (NEAREST, 'component: "NAME_hepler:Nearest"', "Did you mean 'NAME_helper'?"),
        (NEAREST, 'component: "json:Nearest"', "another module of that name is installed"),
        (NEAREST, 'component: "NAME_bad:Nearest"', "importing NAME_bad fails: ModuleNotFoundError"),
        (SCALER, '"no_such:Thing"', "no module 'no_such': install its package, or put no_such.py"),
        (SCALER, '"NAME:Unfinished"', "it has no method 'fit', which a step of a pipeline"),
        (SCALER, '"NAME:Broken"', "transform returns the shape (20,), not (120, features)"),
        (SCALER, '"NAME:Failing"', "it fails: RuntimeError: not today"),
        (SCALER, "GaussianNB", "it has no method 'transform'"),
        ("scale: 2.0", "scal: 2.0", "mine: NAME:Centred has no parameter 'scal'. Did you mean 'scale'"),
        ("GaussianNB:", "Normalizer:", "'Normalizer' is no classifier"),
    ],
)
def test_what_cannot_be_used_is_refused_before_work(parts, old, new, words):
    path, name = parts
    (path.parent / "json.py").write_text("class Nearest: pass\n")
    (path.parent / f"{name}_bad.py").write_text("import no_such_package\n")
    text = path.read_text()
    path.write_text(text.replace(old.replace("NAME", name), new.replace("NAME", name)))
    assert path.read_text() != text
    with pytest.raises(SuiteError) as error:
        check_parameters(load_suite(path), path)
    assert str(error.value).startswith(f"{path}: experiments.main.")
    assert words.replace("NAME", name) in str(error.value)


def test_only_what_the_suite_names_is_imported(parts):
    path, name = parts
    (path.parent / f"{name}_other.py").write_text("raise SystemExit('imported')\n")
    text = path.read_text().replace("title: Own parts", f'title: "{name}_other:Thing"')
    path.write_text(text.replace("scale: 2.0", f'scale: "{name}_other:Thing"'))
    suite = load_suite(path)
    check_parameters(suite, path)
    plan_suite(suite, catalogue_of(suite))
    assert f"{name}_other" not in sys.modules


def test_the_code_of_a_job_changes_with_own_parts(parts):
    path, name = parts

    def codes():
        code_hash.own_code_hash.cache_clear()
        bench = Workflow({"suites": ["mine"]}, path.parent / "config.yaml", path.parent, check=False)
        spec = bench.spec("mine/main/mine")
        embedding = spec.model_copy(update={"components": {}})
        return job_code("train", spec), job_code("train", embedding)

    before = codes()
    for file, old, new, changes in [
        (f"{name}.py", '"""Parts."""', '"""Other words."""  # and a comment', False),
        (f"{name}.py", "scale=1.0", "scale=3.0", True),
        (f"{name}_helper.py", "mean(axis=0)", "mean(axis=0) + 1", True),
    ]:
        source = path.parent / file
        source.write_text(source.read_text().replace(old, new))
        after = codes()
        assert (after[0] != before[0]) == changes
        assert after[1] == before[1]
        before = after


def test_code_of_installed_packages_follows_their_files(tmp_path, monkeypatch):
    assert code_hash.own_code_hash("sklearn.svm") == code_hash.own_code_hash("sklearn.tree")
    package = tmp_path / "one_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "core.py").write_text("X = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    first = code_hash.own_code_hash("one_package.core")
    (package / "core.py").write_text("X = 2\n")
    code_hash.own_code_hash.cache_clear()
    assert code_hash.own_code_hash("one_package.core") != first
    with pytest.raises(ModuleNotFoundError, match="no module 'no_such'"):
        code_hash.own_code_hash("no_such.module")


def test_a_package_offers_components_by_entry_points(tmp_path, monkeypatch):
    info = tmp_path / "offering-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[eigenbench.components]\nOffered = offering_module:Mine\n")
    (tmp_path / "offering_module.py").write_text(
        "from sklearn.preprocessing import MinMaxScaler\nclass Mine(MinMaxScaler):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    registry.offered_components.cache_clear()
    registry._unregistered.cache_clear()
    try:
        found = find_component("Offered")
        assert (found.module, found.attribute, found.own) == ("offering_module", "Mine", True)
        assert found.load().__name__ == "Mine"
        path = tmp_path / "suite.yaml"
        path.write_text(
            SUITE.format(name="x")
            .replace('{"x:Centred": {scale: 2.0}}', "Offered")
            .replace("{centred__scale: [1.0, 2.0]}", "{offered__clip: [true]}")
            .split("      bagged")[0]
        )
        check_parameters(load_suite(path), path)
    finally:
        registry.offered_components.cache_clear()
        registry._unregistered.cache_clear()


def test_models_of_own_parts_are_loaded_by_those_who_trust_them(parts):
    path, name = parts
    model = find_component(f"{name}:Centred", path.parent).load()().fit(np.array([[1.0], [2.0]]))
    save_model(path.parent / "model.skops", model)
    with pytest.raises(ModelFileError, match=f"{name}.Centred: name their packages as trusted"):
        load_model(path.parent / "model.skops")
    assert load_model(path.parent / "model.skops", trusted=[name]).mean_.tolist() == [1.5]


PROTOCOL = """
import math
from typing import ClassVar
from eigenbench.bench.protocols.base import Outcome, ProtocolSettings

class Settings(ProtocolSettings):
    headline: ClassVar[str] = "rows"
    factor: int = 1
    def metrics(self):
        return ("rows",)

def measure(trial):
    return Outcome({"rows": float(trial.settings.factor * len(trial.data().y_train))})
"""

MEASURED = """
title: Own protocol
experiments:
  main:
    dataset: digits
    protocol: "{name}:measure"
    settings: {{factor: 2}}
    methods: {{plain: {{steps: []}}}}
"""


def test_a_protocol_beside_a_suite_is_planned_and_its_code_counts(parts):
    path, name = parts
    (path.parent / f"{name}_p.py").write_text(PROTOCOL)
    path.write_text(MEASURED.format(name=f"{name}_p"))
    suite = load_suite(path)
    check_parameters(suite, path)
    assert suite.experiments["main"].headline == "rows"
    (method,) = plan_suite(suite, catalogue_of(suite)).methods
    spec = type(method.spec).model_validate_json(method.spec.as_json)
    assert spec.load_protocol().__name__ == f"{name}_p"
    assert spec.protocol_folder == str(path.parent)
    moved = spec.model_copy(update={"protocol_folder": "/elsewhere"})
    assert moved.key(0, "none") == spec.key(0, "none")
    before = job_code("measure", spec)
    (path.parent / f"{name}_p.py").write_text(PROTOCOL.replace("2 *", "3 *").replace("float(", "1 + float("))
    code_hash.own_code_hash.cache_clear()
    assert job_code("measure", spec) != before


@pytest.mark.parametrize(
    ("protocol", "code", "words"),
    [
        ("no_such:measure", "", "there is no module 'no_such': install its package, or put no_such.py or a"),
        ("NAME:measure", "import no_such_package", "importing NAME_p fails: ModuleNotFoundError: No module"),
        ("NAME:measure", "def measure(trial): pass", "must define one class derived from ProtocolSettings"),
        ("NAME:measure", PROTOCOL.split("def measure")[0], "defines no function 'measure(trial)'"),
        ("NAME:metrics", PROTOCOL, "unknown protocol"),
        ("kernel_eror", "", "unknown protocol 'kernel_eror'. Did you mean 'kernel_error'?"),
        ("NAME_q:measure", PROTOCOL, "Did you mean 'NAME_p'?"),
    ],
)
def test_what_is_no_protocol_is_refused(parts, protocol, code, words):
    path, name = parts
    (path.parent / f"{name}_p.py").write_text(code)
    path.write_text(MEASURED.format(name="x").replace("x:measure", protocol.replace("NAME", f"{name}_p")))
    with pytest.raises(SuiteError) as error:
        load_suite(path)
    assert str(error.value).startswith(f"{path}: experiments.main.protocol: ")
    assert words.replace("NAME", name) in str(error.value)
