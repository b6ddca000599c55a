"""Display names: distinct within every experiment of the suites, and in words for names of one's own."""

from collections import Counter

import pytest

from eigenbench.bench.suites.suite_file import load_suite, suite_files
from eigenbench.datasets.project_files import project_folder
from eigenbench.reporting.display_names import (
    classifier_name,
    dataset_name,
    experiment_name,
    label_name,
    method_name,
    run_name,
)

SUITES = list(suite_files(project_folder() / "config" / "suites"))


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_names_of_one_experiment_differ(path):
    suite = load_suite(path)
    for name, spec in suite.experiments.items():
        shown = Counter(
            run_name(method, classifier)
            for method in spec.methods
            for classifier in spec.classifiers_of(method) or ["none"]
        )
        assert [one for one, count in shown.items() if count > 1] == [], name


def test_no_key_is_shown():
    names = [
        name for path in SUITES for spec in load_suite(path).experiments.values() for name in spec.methods
    ]
    assert [name for name in map(method_name, names) if "_" in name or name == "Identity"] == []


@pytest.mark.parametrize("name", ["<b>x</b>", "a b", "été"])
def test_other_names_stay(name):
    assert method_name(name) == classifier_name(name) == dataset_name(name) == name


def test_names_in_words():
    assert label_name("my_map + GaussianNB") == "My map + GaussianNB"
    assert classifier_name("none") == ""
    assert experiment_name("grid", "mnist") == "Grid on MNIST"
    assert experiment_name("mnist", "mnist") == "MNIST"
