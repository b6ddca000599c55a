import pytest
from pydantic import ValidationError
from small_jobs import plan_of, suite_of

from eigenbench.bench.protocols.available import PROTOCOLS
from eigenbench.bench.protocols.learning_curve import LearningCurveSettings
from eigenbench.bench.suites.parts import SuiteError

EXPERIMENT = {
    "protocol": "kernel_error",
    "settings": {"degree": 3, "sizes": [8, 16]},
    "classifiers": {},
    "seeds": [0, 1],
}


def plan(**changes):
    return plan_of(**EXPERIMENT | changes)


def experiment(**changes):
    return suite_of(**EXPERIMENT | changes).experiments["main"]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_can_be_loaded_and_explains_itself(name):
    protocol = PROTOCOLS[name]
    assert protocol.settings().model_config["extra"] == "forbid"
    assert callable(protocol.load().measure)
    assert protocol.summary
    assert protocol.settings().headline


def test_a_protocol_needs_one_run_a_seed_and_no_classifier():
    method = plan()
    assert [(run.classifier, run.seed) for run in method.runs] == [("none", 0), ("none", 1)]
    assert len({run.key for run in method.runs}) == 2
    assert method.files == [f"{method.folder}/seed-{seed}/record.json" for seed in (0, 1)]
    assert method.spec.validation is None


def test_settings_left_out_are_part_of_the_key():
    given = plan(settings={"degree": 3, "sizes": [8, 16], "a": 4.0})
    assert given.runs == plan().runs
    other = plan(settings={"degree": 3, "sizes": [8, 16], "a": 2.0})
    assert not {run.key for run in other.runs} & {run.key for run in given.runs}


def test_a_protocol_that_measures_time_has_the_machine_for_itself():
    steps = {"random": {"steps": [{"RandomMaclaurin": {"n_components": 8}}]}}
    method = plan(protocol="map_speed", settings={}, methods=steps)
    assert (method.granularity, method.exclusive) == ("fit", True)
    assert not plan().exclusive


def test_a_protocol_whose_first_seed_chooses_runs_all_seeds_in_one_job(monkeypatch):
    curve = {"protocol": "learning_curve", "settings": {"train_rows": [1000]}}
    assert plan(**curve).granularity == "method"
    monkeypatch.setattr(LearningCurveSettings, "exclusive", True)
    assert plan(**curve).granularity == "fit"
    with pytest.raises(SuiteError, match=r"experiments.main.seeds: 1 is the first, and has to be 0"):
        plan(**curve, seeds=[1, 0])


def test_the_headline_is_the_protocols_own_unless_named():
    assert experiment(settings={"degree": 3}).headline == PROTOCOLS["kernel_error"].settings().headline
    assert experiment().headline == "kernel_mse_at_16", "a size that is measured"
    assert experiment(headline="effective_rank_at_16").headline == "effective_rank_at_16"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"classifiers": ["CalibratedLeastSquares"]}, "takes no 'classifiers'"),
        ({"methods": {"random": {"steps": ["GEM"], "grid": {"gem__gamma": [1]}}}}, "no 'grid'"),
        ({"protocol": None, "classifiers": ["CalibratedLeastSquares"]}, "'settings' belong to a 'protocol'"),
        (
            {
                "protocol": "paired_comparison",
                "settings": {"variants": {"a": {}, "b": {"gem": {"NeighborGEM": {}}}}, "reference": "a"},
            },
            "unknown component 'NeighborGEM'. Did you mean 'NeighborhoodGEM'",
        ),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_it(changes, word):
    with pytest.raises(ValidationError, match=word):
        suite_of(**EXPERIMENT | changes)
