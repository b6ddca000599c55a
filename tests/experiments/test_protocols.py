from pathlib import Path

import pytest
from pydantic import ValidationError

from eigenbench.experiments.plan import make_plan
from eigenbench.experiments.suite import Suite, SuiteError
from eigenbench.experiments.suite_file import check_parameters, load_suite
from eigenbench.protocols.available import PROTOCOLS

EXPERIMENT = {
    "dataset": "digits",
    "protocol": "kernel_error",
    "settings": {"degree": 3, "sizes": [8, 16]},
    "methods": {"random": {"steps": [{"RandomDirections": {"n_components": 8}}]}},
    "seeds": [0, 1],
}


def suite(**changes):
    return Suite.model_validate(
        {"name": "s", "title": "t", "experiments": {"main": {**EXPERIMENT, **changes}}}
    )


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_can_be_loaded_and_explains_itself(name):
    protocol = PROTOCOLS[name]
    assert protocol.settings().model_config["extra"] == "forbid"
    assert callable(protocol.measure)
    assert protocol.summary
    assert protocol.headline


def test_a_protocol_needs_one_task_a_seed_and_no_classifier():
    plan = make_plan(suite(), {"digits": True})
    assert [(cell.classifier, cell.seed, cell.final.stage) for cell in plan.cells] == [
        ("none", 0, "measure"),
        ("none", 1, "measure"),
    ]
    assert len({cell.run_key for cell in plan.cells}) == 2
    assert {unit.stage for unit in plan.units.values()} == {"measure"}


def test_settings_left_out_are_part_of_the_key():
    given = suite(settings={"degree": 3, "sizes": [8, 16], "a": 4.0})
    keys = [make_plan(s, {"digits": True}).cells[0].run_key for s in (suite(), given)]
    assert keys[0] == keys[1]
    other = make_plan(suite(settings={"degree": 3, "sizes": [8, 16], "a": 2.0}), {"digits": True})
    assert other.cells[0].run_key != keys[0]


def test_the_headline_is_the_protocols_own_unless_named():
    assert suite(settings={"degree": 3}).experiments["main"].headline == PROTOCOLS["kernel_error"].headline
    assert suite().experiments["main"].headline == "kernel_mse_at_16", "a size that is measured"
    assert suite(headline="effective_rank_at_16").experiments["main"].headline == "effective_rank_at_16"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"protocol": "kernel_eror"}, "Did you mean 'kernel_error'"),
        ({"settings": {"degree": 0.5}}, "greater than or equal to 1"),
        ({"settings": {"degree": 3, "size": [8]}}, "size"),
        ({"classifiers": ["CalibratedLeastSquares"]}, "takes no 'classifiers'"),
        ({"methods": {"random": {"steps": ["GEM"], "grid": {"gem__gamma": [1]}}}}, "no 'grid'"),
        ({"protocol": None, "classifiers": ["CalibratedLeastSquares"]}, "'settings' belong to a 'protocol'"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_it(changes, word):
    with pytest.raises(ValidationError, match=word):
        suite(**changes)


def test_the_error_names_file_and_place(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "title: t\nexperiments:\n  main: {dataset: digits, protocol: kernel_error, "
        "settings: {degree: 3, size: [8]}, methods: {a: {}}}\n"
    )
    with pytest.raises(SuiteError, match=r"s.yaml: experiments.main.*size"):
        load_suite(path)


@pytest.mark.parametrize(
    ("protocol", "settings", "words"),
    [
        ("ensemble", {"params": {"rigde": 1.0}}, "CalibratedLeastSquares has no parameter 'rigde'"),
        ("sweep", {"sizes": [8, 16], "params": {"rigde": 1.0}}, "Did you mean 'ridge'"),
        (
            "paired_comparison",
            {"reference": "a", "variants": {"a": {}, "b": {"gem": {"GEM": {"gama": 1}}}}},
            "GEM has no parameter 'gama'. Did you mean 'gamma'",
        ),
    ],
)
def test_a_wrong_parameter_in_the_settings_is_named(protocol, settings, words):
    wrong = suite(protocol=protocol, settings=settings)
    with pytest.raises(SuiteError) as error:
        check_parameters(wrong, Path("s.yaml"))
    assert str(error.value).startswith("s.yaml: experiments.main.settings: ")
    assert words in str(error.value)
