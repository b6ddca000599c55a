"""Suites that do not say what they mean stop before any work: a SuiteError names file, place and remedy."""

import csv
import datetime
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenbench.bench.protocols.available import PROTOCOLS
from eigenbench.bench.suites.component_checks import check_parameters
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.bench.suites.suite_file import load_suite, suite_files
from eigenbench.datasets.catalogue import default_catalogue_path
from eigenbench.datasets.plain_yaml import MAX_VALUES, read_yaml

SUITES = default_catalogue_path().parent / "suites"
REFERENCE = Path(__file__).parents[3] / "reports" / "reference"

CLASSIFIERS = "{ridge: {component: CalibratedLeastSquares, grid: {ridge: [1.0]}}}"
SUITE = """
title: A test
experiments:
  main:
    dataset: digits
    headline: test_error
    methods:
      gem: {steps: [{GEM: {gamma: 0.1}}, SignedPowers], grid: {gem__gamma: [0.1, 1.0]}}
      plain: {steps: []}
    classifiers: {ridge: {component: CalibratedLeastSquares, grid: {ridge: [1.0]}}}
    seeds: [0, 1]
    published:
      - {source: A paper, method: gem, metric: test_errors, value: 108}
  kernel:
    dataset: digits
    protocol: kernel_error
    settings: {degree: 3, sizes: [8, 16]}
    methods: {features: {steps: [RandomMaclaurin]}}
    headline: kernel_mse_at_16
  sweep:
    dataset: digits
    protocol: sweep
    settings: {values: {gem__theta: [1, 2]}, params: {ridge: 1.0}}
    methods: {gem: {steps: [{GEM: {top: 2}}, SignedPowers]}}
  pairs:
    dataset: digits
    protocol: paired_comparison
    settings: {reference: a, variants: {a: {}, b: {gem__pairs: uniform}, c: {gem: {SIR: {}}, gem__k: 1}}}
    methods: {gem: {steps: [{GEM: {top: 2}}]}}
  together:
    dataset: digits
    protocol: ensemble
    settings: {members: 2, variants: [{gem__top: 1}, {signedpowers: passthrough}]}
    methods: {gem: {steps: [{GEM: {top: 2}}, SignedPowers]}}
"""


def write(folder, text):
    path = folder / "sample.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder, text):
    """Return the message with which a suite is refused, after checking that it names the file."""
    path = write(folder, text)
    with pytest.raises(SuiteError) as error:
        load_suite(path, ["digits", "mnist"])
    message = str(error.value)
    assert all(line.startswith(f"{path}: ") for line in message.splitlines())
    return message.replace(f"{path}: ", "")


def test_other_yaml_beside_suites_is_none_unless_it_is_asked_for(tmp_path):
    for name, text in {
        "mine": "title: t\nexperiment: {}\n",
        "misspelled": "title: t\nexperimets: {a: {dataset: digits, methods: all}}\n",
        "environment": "dependencies: [python]\n",
    }.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / ".#mine.yaml").symlink_to("an editor's lock")
    assert [path.stem for path in suite_files(tmp_path)] == ["mine", "misspelled"]
    asked = suite_files(tmp_path, ["environment"])
    assert [path.stem for path in asked] == ["environment", "mine", "misspelled"]


def test_the_suite_of_these_tests_is_valid_and_has_the_name_of_its_file(tmp_path):
    path = write(tmp_path, SUITE)
    suite = load_suite(path, ["digits"])
    check_parameters(suite, path)
    assert suite.name == "sample"
    gem, powers = suite.experiments["main"].methods["gem"].steps
    assert (gem.component, gem.params, powers.component) == ("GEM", {"gamma": 0.1}, "SignedPowers")


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("title:", "titel:", "titel", "unknown key 'titel'. Did you mean 'title'?"),
        ("methods:", "metods:", "main.metods", "Did you mean 'methods'?"),
        ("title:", "seeds: [1]\ntitle:", "seeds", "the key 'seeds' does not belong here"),
        ("{GEM:", "{GEMM:", "main.methods.gem.steps.0", "Did you mean 'GEM'?"),
        ("dataset: digits", "dataset: digit", "main.dataset", "'digit'. Did you mean 'digits'?"),
        ("method: gem, metric", "metric", "main.published.0", "either 'method'"),
        ("test_error\n", "test_eror\n", "main.headline", "'test_eror'. Did you mean 'test_error'?"),
        ("_at_16\n", "_at_17\n", "kernel.headline", "Did you mean 'kernel_mse_at_16'?"),
        ("test_errors,", "test_erors,", "main.published", "('A paper'): unknown metric 'test_erors'"),
        ("method: gem", "method: gme", "main.published", "unknown method 'gme'. Did you mean 'gem'?"),
        ("[0, 1]", "[0, 1, 0]", "main.seeds", "0 is given twice"),
        ("[0, 1]", "[-1]", "main.seeds.0", "greater than or equal to 0"),
        ("[0, 1]", "[4294967296]", "main.seeds.0", "less than 4294967296"),
        ("[0, 1]", "[true]", "main.seeds.0", "valid integer"),
        ("[0, 1]", "42", "main.seeds", "write a list, [42]"),
        ("CalibratedLeastSquares", "CalibratedLeastSquare", "ridge", "mean 'CalibratedLeastSquares'?"),
        ("CalibratedLeastSquares", "GEMM", "ridge", "unknown classifier 'GEMM'. Known: Calibrated"),
        ("CalibratedLeastSquares", "GausianNB", "main.classifiers.ridge", "Did you mean 'GaussianNB'?"),
        ("value: 108", "value: .nan", "main.published.0.value", "nan is not a finite number"),
        ("value: 108", "value: true", "main.published.0.value", "valid number"),
        ("degree: 3", "degree: .inf", "kernel.settings.degree", "inf is not a finite number"),
        ("degree: 3", "degre: 3", "kernel.settings.degre", "unknown key 'degre'. Did you mean 'degree'?"),
        ("sizes: [8, 16]", "sizes: []", "kernel.settings.sizes", "at least 1 item"),
        ("gamma: 0.1", f"gamma: {10**30}", "main.methods.gem.steps.0.GEM.gamma", "100 bits is too large"),
        ("A test", '"A \\u202Etest"', "title", "characters that are not text"),
        ("[0.1, 1.0]", "[]", "main.methods.gem.grid.gem__gamma", "at least 1 item"),
        ("{ridge: [1.0]}", "{ridge: []}", "main.classifiers.ridge.grid.ridge", "at least 1 item"),
        ("{GEM: {gamma: 0.1}}", "{GEM: 5}", "main.methods.gem.steps.0", "valid dictionary"),
        ("gamma: 0.1", "gamma: [{PCA: 5}]", "main.methods.gem.steps.0", "parameters must be a mapping"),
        ("protocol: kernel_error", "protocol: [a]", "kernel.protocol", "valid string"),
        (CLASSIFIERS, "[PCA, PCA]", "main", "'PCA' is given twice"),
        ("plain:", "model.skops.refused:", "main.methods", "is the name of a file of results"),
        ("ridge:", "Record.json:", "main.classifiers", "is the name of a file of results"),
        ("kernel:", "tracked.0a1b2c3d.json:", "experiments", "is the name of a file of results"),
        ("plain:", "Seed-7:", "main.methods", "'Seed-7' is the name of a folder of results"),
        ("plain: {steps: []}", "gemm:", "main: unknown recipe 'gemm'", "Did you mean 'gem'?"),
        ("title:", "deviations: [{paper: a, here: '', why: c}]\ntitle:", "deviations.0.here", "at least 1"),
        ("plain:", "GEM:", "main.methods", "'gem' and 'GEM' are the same folder"),
        ("kernel:", "Main:", "experiments", "'main' and 'Main' are the same folder"),
        ("    seeds:", "    time_limit: 0\n    seeds:", "main.time_limit", "greater than 0"),
        ("    seeds:", "    validation: {n_points: 24}\n    seeds:", "main", "fewer points than"),
        ("seeds:", "grids: {gem: {gem__gamma: [1.0]}}\n    seeds:", "main", "belong to 'methods: all'"),
        ("methods:\n", "methods: all\n    grids: {gme: {}}\n    old:\n", "main", "Did you mean 'gem'?"),
    ],
)
def test_a_wrong_value_names_its_place(tmp_path, old, new, place, words):
    assert SUITE.count(old) >= 1
    message = refusal(tmp_path, SUITE.replace(old, new, 1))
    assert f"{place}" in message
    assert words in message


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("gamma: 0.1", "gama: 0.1", "main.methods.gem", "GEM has no parameter 'gama'. Did you mean 'gamma'?"),
        ("gem__gamma", "gen__gamma", "main.methods.gem.grid", "names no step. Did you mean 'gem'?"),
        ("gamma: 0.1", "gamma: '1e-3'", "main.methods.gem", "Got '1e-3' instead. Write 1e-3 without quotes."),
        ("gamma: 0.1", "top: 1_000", "main.methods.gem", "Write 1000 without quotes."),
        ("gamma: 0.1", "top: None", "main.methods.gem", "Write null, without quotes."),
        ("gamma: 0.1", "gamma: -1", "main.methods.gem", "Got -1 instead"),
        ("gem__gamma: [0.1, 1.0]", "gem__gamma: [0.1, -1.0]", "main.methods.gem.grid", "Got -1.0 instead"),
        ("ridge: [1.0]", "ridge: [1.0, yes]", "main.classifiers.ridge.grid", "Got 'yes' instead"),
        ("SignedPowers]", "{FeatureUnion: {transformer_list: [[a, {PCA: {whiten: 3}}]]}}]", "main", "Got 3"),
        ("steps: []", "steps: [{SignedPowers: {offset: yes}}]", "main.methods.plain", "Write true, without"),
        ("theta: [1, 2]", "thet: [1, 2]", "sweep.settings: GEM has no parameter", "thet"),
        ("theta: [1, 2]", "theta: [-1, 2]", "sweep.settings: GEM: The 'theta' parameter", "Got -1 instead"),
        ("gem__theta", "gen__theta", "sweep.settings: 'gen__theta' names no step.", "Did you mean 'gem'?"),
        ("ridge: 1.0", "ridge: '1'", "sweep.settings: CalibratedLeastSquares: ", "Write 1 without quotes"),
        ("uniform", "unifrom", "pairs.settings: GEM: The 'pairs' parameter", "Got 'unifrom' instead"),
        ("{gem__top: 1}", "{gem__top: 0.5}", "together.settings: GEM: The 'top' parameter", "Got 0.5"),
    ],
)
def test_a_value_that_a_component_does_not_take_is_refused_before_work(tmp_path, old, new, place, words):
    assert SUITE.count(old) >= 1
    path = write(tmp_path, SUITE.replace(old, new, 1))
    with pytest.raises(SuiteError) as error:
        check_parameters(load_suite(path), path)
    assert str(error.value).startswith(f"{path}: experiments.{place}")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("A test", "!!binary aGVsbG8=", 2, "tag"),
        ("[0, 1]", "!!set {0, 1}", 11, "tag"),
        ("[0, 1]", "&a [*a]", 11, "*a"),
        ("[0, 1]", "*nothing", 11, "*nothing"),
        ("plain:", "true:", 9, "the key True is not a text"),
        ("plain:", "[a]:", 9, "not a text"),
        ("plain:", "? {a: b}\n      :", 9, "not a text"),
        ("A test", f"[{'0, ' * MAX_VALUES}]", 2, "values"),
    ],
)
def test_what_is_not_plain_names_its_line(tmp_path, old, new, line, words):
    message = refusal(tmp_path, SUITE.replace(old, new, 1))
    assert message.startswith(f"line {line}: ")
    assert words in message


def test_nesting_beyond_what_a_parser_takes_names_its_line(tmp_path):
    message = refusal(tmp_path, SUITE.replace("A test", "[" * 100_000, 1))
    # PyYAML has a bound of its own since 6.0.4.
    assert re.match("line 2: .*(levels|nesting depth)", message)


def test_aliases_that_nest_without_end_are_refused(tmp_path):
    deep = ["a0: &a0 [1]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200))]
    assert "levels" in refusal(tmp_path, "\n".join(deep) + SUITE)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "expected a mapping"),
        (b"# nothing\n", "expected a mapping"),
        (b"title: a\ndescription: \xff\n", "line 2: not UTF-8"),
        (b"title: a\n---\ntitle: b\n", "line 2: "),
        (SUITE.encode("utf-16"), "not UTF-8"),
    ],
)
def test_files_that_hold_no_suite(tmp_path, data, words):
    path = tmp_path / "sample.yaml"
    path.write_bytes(data)
    with pytest.raises(SuiteError) as error:
        load_suite(path)
    assert str(error.value).startswith(f"{path}: ")
    assert words in str(error.value)
    with pytest.raises(SuiteError, match="sample"):
        load_suite(tmp_path / "absent" / "sample.yaml")


def test_a_file_whose_name_cannot_be_a_folder_is_refused(tmp_path):
    of_rules = ("report", "train", "paper", "every_suite")
    of_reports = ("figures", "results.csv", "Index.html", "receipts")
    hostile = ("x; touch injected", "$(touch injected)", "a b", "-rf", "{x}", "seed-1")
    for name in (*hostile, *of_rules, *of_reports):
        path = tmp_path / f"{name}.yaml"
        path.write_text(SUITE)
        with pytest.raises(SuiteError, match=r"\.yaml: name: "):
            load_suite(path)


@pytest.mark.parametrize(("length", "parameters"), [(101, 2), (100, 60)])
def test_a_grid_of_more_points_than_anyone_waits_for_is_refused(tmp_path, length, parameters):
    grid = {f"gem__p{number}": list(range(length)) for number in range(parameters)}
    message = refusal(
        tmp_path, SUITE.replace("{gem__gamma: [0.1, 1.0]}", yaml.dump(grid, default_flow_style=True))
    )
    assert f"the 'grid' of gem and ridge has {length**parameters} points" in message


def test_grids_of_method_and_classifier_multiply(tmp_path):
    text = SUITE.replace("[0.1, 1.0]", str(list(range(101)))).replace(
        "ridge: [1.0]", f"ridge: {list(range(100))}"
    )
    assert "has 10100 points" in refusal(tmp_path, text)


def test_the_time_limit_of_an_experiment_wins(tmp_path):
    text = SUITE.replace("title: A", "time_limit: 60\ntitle: A").replace(
        "    seeds:", "    time_limit: 5.5\n    seeds:"
    )
    suite = load_suite(write(tmp_path, text))
    assert suite.time_limit_of("main") == 5.5
    assert suite.time_limit_of("kernel") == 60
    unlimited = load_suite(write(tmp_path, text.replace("5.5", "null")))
    assert unlimited.time_limit_of("main") is None
    assert load_suite(write(tmp_path, SUITE)).time_limit_of("main") is None


def test_the_headline_of_multilabel_data_is_the_metric_that_chooses():
    spec = {"dataset": "bibtex", "methods": {"plain": {}}, "classifiers": ["OneVsRestLogistic"]}
    spec["validation"] = {"metric": "macro_f1"}
    assert ExperimentSpec.model_validate(spec).headline == "test_macro_f1"


@pytest.mark.parametrize("path", sorted(REFERENCE.glob("*/results.csv")), ids=lambda path: path.parent.name)
def test_every_metric_of_the_reference_results_is_one_that_its_experiment_can_give(path):
    suites: dict[str, Suite] = {}
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"]]
    assert rows
    for row in rows:
        if row["suite"] not in suites:
            suites[row["suite"]] = load_suite(SUITES / f"{row['suite']}.yaml")
        known = [
            pattern
            for spec in suites[row["suite"]].experiments.values()
            if spec.dataset == row["dataset"]
            and row["method"] in spec.methods
            and row["classifier"] in (spec.classifiers_of(row["method"]) or ("none",))
            for pattern in spec.metrics
        ]
        assert any(fnmatchcase(row["metric"], pattern) for pattern in known), row


# Everything that YAML can hold: what a suite may hold, and what it may not.
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**64, -(2**63), 10**400])
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=4)
    | st.dates()
    | st.datetimes(min_value=datetime.datetime(1, 1, 2))
    | st.sampled_from(
        ["all", "GEM", "gem", "PCA", "digits", "kernel_error", "sweep", "transfer", "test_error"]
    )
)
WORDS = st.sampled_from(
    ["component", "params", "grid", "steps", "seeds", "metric", "GEM", "PCA", "gem__gamma", "choose", "main"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(SCALARS.filter(lambda key: key == key) | WORDS, inner, max_size=4)
        | st.sets(st.integers() | st.text(max_size=3), max_size=3)
    ),
    max_leaves=8,
)


def places(value, place=()):
    """Yield the path of every value inside a value."""
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*place, key))


def protocol_experiments():
    """Yield one shipped experiment of every protocol, as written."""
    waiting = set(PROTOCOLS)
    for path in sorted(SUITES.glob("*.yaml")):
        for spec in read_yaml(path)["experiments"].values():
            if (name := spec.get("protocol")) in waiting:
                waiting.remove(name)
                yield name, spec


CONTENT = yaml.safe_load(SUITE)
CONTENT["experiments"] |= dict(protocol_experiments())
PLACES = list(places(CONTENT))


def replaced(value, place, new):
    if not place:
        return new
    changed = value.copy()
    changed[place[0]] = replaced(value[place[0]], place[1:], new)
    return changed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder for suites, after checking that the content that is changed is valid."""
    folder = tmp_path_factory.mktemp("fuzz")
    path = write(folder, yaml.safe_dump(CONTENT))
    check_parameters(load_suite(path), path)
    return folder


@settings(max_examples=100, deadline=5000)
@given(place=st.sampled_from(PLACES), new=VALUES)
def test_any_value_in_any_place_is_valid_or_refused(folder, place, new):
    path = write(folder, yaml.safe_dump(replaced(CONTENT, place, new)))
    try:
        suite = load_suite(path, ["digits"])
        check_parameters(suite, path)
    except SuiteError as error:
        refused = str(error)
    else:
        refused = ""
        assert all(type(seed) is int for spec in suite.experiments.values() for seed in spec.seeds)
        assert json.dumps(suite.model_dump(mode="json"), allow_nan=False)
    assert all(line.startswith(f"{path}: ") for line in refused.splitlines())
    assert len(refused) < 20_000
