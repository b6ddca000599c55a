from pathlib import Path

import pytest

from eigenbench.bench.registry import COMPONENTS
from eigenbench.bench.suites.component_checks import check_parameters
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.recipes import load_recipes
from eigenbench.bench.suites.steps import Step, flat_params, grid_points, grid_size, step_names, with_params
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.bench.suites.suite_file import load_suite, validate_config
from eigenbench.datasets.catalogue import default_catalogue_path, load_catalogue


def test_all_expands_to_recipes_and_registered_classifiers():
    experiment = ExperimentSpec.model_validate({"dataset": "digits", "methods": "all", "classifiers": "all"})
    assert set(experiment.methods) == {name for name, recipe in load_recipes().items() if recipe.in_all}
    assert set(experiment.classifiers) == {
        name for name, item in COMPONENTS.items() if item.kind == "classifier"
    }


def test_a_step_can_be_written_as_a_pair():
    given = {"dataset": "digits", "methods": {"m": {"steps": [["GEM", {"top": 2}]]}}, "classifiers": ["SVC"]}
    assert ExperimentSpec.model_validate(given).methods["m"].steps[0].params == {"top": 2}


def test_the_configuration_has_known_keys_and_folders_below_the_home_of_the_user(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    config = validate_config({"data_dir": "~/data", "results_dir": "./here~"}, Path("config.yaml"))
    assert (config.data_dir, config.results_dir) == ("/home/someone/data", "./here~")
    with pytest.raises(SuiteError, match=r"config\.yaml.*data_dir.*no home folder ~nobody-of-this-name"):
        validate_config({"data_dir": "~nobody-of-this-name/data"}, Path("config.yaml"))
    with pytest.raises(SuiteError, match=r"unknown key 'suite'\. Did you mean 'suites'\?"):
        validate_config({"suite": ["quick"]}, Path("config.yaml"))


def test_grid_points_and_step_names():
    assert grid_points({}) == [{}]
    grid = {"a": [1, 2], "b": [3]}
    assert grid_points(grid) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert [grid_size(grid), grid_size({})] == [2, 1]
    steps = tuple(Step(component=name) for name in ("GEM", "PCA", "GEM"))
    assert step_names(steps) == ["gem-1", "pca", "gem-2"]


def test_a_point_of_a_grid_changes_the_parameters_of_the_steps_that_it_names():
    steps = (Step(component="GEM", params={"top": 1}), Step(component="SignedPowers"), Step(component="GEM"))
    changed = with_params(steps, {"gem-2__gamma": 5, "gem-1__top": 2})
    assert [step.params for step in changed] == [{"top": 2}, {}, {"gamma": 5}]
    assert flat_params(changed) == {"gem-1__top": 2, "gem-2__gamma": 5}
    assert steps[0].params == {"top": 1}


@pytest.mark.parametrize(
    "path", sorted((default_catalogue_path().parent / "suites").glob("*.yaml")), ids=lambda p: p.stem
)
def test_shipped_suites_are_valid_and_say_what_deviates_from_their_papers(path):
    suite = load_suite(path, sorted(load_catalogue().datasets))
    check_parameters(suite, path)
    published = any(experiment.published for experiment in suite.experiments.values())
    assert suite.deviations or not published


def test_a_method_without_a_description_is_the_recipe_of_its_name():
    given = {"dataset": "digits", "classifiers": ["LogisticRegression"], "n_features": 60}
    methods = {"gem": None, "raw": None, "own": {"steps": ["PCA"]}}
    found = ExperimentSpec.model_validate({**given, "methods": methods}).methods
    assert flat_params(found["gem"].steps)["gem__n_components"] == 10
    assert found["gem"].grid == {"gem__gamma": load_recipes()["gem"].grid["gem__gamma"]}
    assert found["raw"].steps == load_recipes()["raw"].steps
    assert found["own"].steps == (Step(component="PCA"),)


def test_a_protocol_chooses_among_the_values_of_a_recipe():
    given = {"dataset": "digits", "protocol": "learning_curve", "settings": {"train_rows": [100]}}
    found = ExperimentSpec.model_validate({**given, "methods": {"gem": None}}).methods["gem"]
    assert flat_params(found.steps)["gem__gamma"] == {"choose": load_recipes()["gem"].grid["gem__gamma"]}
    assert not found.grid
