"""From suites to runs and jobs: what a job is told is all that determines its runs, and nothing else."""

import json
import shutil
from dataclasses import replace

import pytest
import yaml
from small_jobs import methods_of, plan_of, suite_of

from eigenbench.bench.jobs.cost import PACK_SECONDS
from eigenbench.bench.jobs.job_spec import JobSpec, content_key
from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.jobs.shared_jobs import shared_jobs
from eigenbench.bench.jobs.workflow import Workflow
from eigenbench.bench.suites.suite import Suite, SuiteError
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets.catalogue import default_catalogue_path, load_catalogue

SUITES = default_catalogue_path().parent / "suites"

CONTENT = {
    "title": "t",
    "experiments": {
        "main": {
            "dataset": "digits",
            "methods": {
                "gem": {"steps": [{"GEM": {"top": 1}}, "SignedPowers"]},
                "random": {"steps": [{"RandomDirections": {"n_components": 5}}], "grid": {}},
            },
            "classifiers": {"CalibratedLeastSquares": {}, "LogisticRegression": {"grid": {"C": [0.1, 1.0]}}},
            "seeds": [0, 1],
        },
        "large": {
            "dataset": "mnist",
            "methods": {
                "gem": {"steps": ["GEM", "SignedPowers"]},
                "deep": {"steps": ["GEM", "SignedPowers"]},
            },
            "classifiers": ["CalibratedLeastSquares", "SecondOrderLogistic"],
            "seeds": [0, 1],
        },
        "kernel": {
            "dataset": "digits",
            "protocol": "kernel_error",
            "settings": {"degree": 3, "sizes": [8, 16]},
            "methods": {"maclaurin": {"steps": [{"RandomMaclaurin": {"n_components": 8}}]}},
        },
    },
}


@pytest.fixture
def workflow(tmp_path):
    """Plan a changed copy of the suite: ``workflow(change)``, where ``change`` edits the content."""

    def plan(change=lambda content: None, name="s"):
        content = json.loads(json.dumps(CONTENT))
        change(content)
        folder = tmp_path / "suites"
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
        return Workflow({"suites": [name]}, tmp_path / "config.yaml", folder, check=False)

    return plan


def told(workflow):
    """What every job is told, with its code: that of whole methods, of embeddings and of single runs."""
    jobs = {}
    for folder, method in workflow._methods.items():
        verb = "measure" if method.spec.protocol else "fit"
        jobs[folder] = (method.spec.told, workflow.code(verb, method.spec))
        embedding = method.spec.of_embedding()
        jobs[folder, ""] = (embedding.told, workflow.code("embed", embedding))
        for classifier in method.spec.classifiers:
            run = method.spec.of_run(classifier)
            jobs[folder, classifier] = (run.told, workflow.code("train", run))
    return jobs


def runs(workflow):
    return {run.folder: run.key for plan in workflow.suites.values() for run in plan.runs}


def test_runs_are_methods_by_classifiers_by_seeds(workflow):
    found = runs(workflow())
    assert len(found) == 2 * 2 * 2 + 2 * 2 * 2 + 1
    assert "s/main/gem/seed-1/LogisticRegression" in found
    assert "s/kernel/maclaurin/seed-0" in found
    assert len(set(found.values())) == len(found)


def test_the_same_suite_gives_the_same_jobs(workflow):
    first, second = workflow(), workflow()
    assert told(first) == told(second)
    assert runs(first) == runs(second)
    assert first.shared_jobs == second.shared_jobs
    assert first.large == second.large


def test_a_short_suite_is_imported_at_once_and_a_long_one_experiment_by_experiment(workflow):
    long = workflow(lambda content: content["experiments"]["large"].update(seeds=list(range(40))))
    names = ("main", "large", "kernel")
    assert long.receipts("s") == [f"results/s/{name}/tracked.json" for name in names]
    assert workflow().receipts("s") == ["results/s/tracked.json"]


def test_keys_and_paths_are_unique_over_all_shipped_suites():
    catalogue = load_catalogue()
    plans = [plan_suite(load_suite(path), catalogue) for path in SUITES.glob("*.yaml")]
    found = [run for plan in plans for run in plan.runs]
    assert len(found) > 500
    assert len({run.folder for run in found}) == len(found)
    assert len({run.folder.casefold() for run in found}) == len(found)
    assert len({run.key for run in found}) == len(found)


def add_method(content):
    content["experiments"]["main"]["methods"]["new"] = {"steps": ["NeighborhoodGEM"]}


def add_classifier(content):
    content["experiments"]["main"]["classifiers"]["LinearSVC"] = {}


def add_seed(content):
    content["experiments"]["main"]["seeds"].append(7)


def add_experiment(content):
    content["experiments"]["more"] = content["experiments"]["main"] | {"dataset": "mnist"}


def reorder(content):
    main = content["experiments"]["main"]
    main["methods"] = dict(reversed(main["methods"].items()))
    main["classifiers"] = dict(reversed(main["classifiers"].items()))


def describe(content):
    content |= {"title": "another", "description": "more words"}
    content["experiments"]["main"] |= {"title": "one more", "headline": "test_errors"}
    number = {"source": "A paper", "method": "gem", "classifier": "CalibratedLeastSquares"}
    number |= {"metric": "test_errors", "value": 12, "tolerance": 3}
    content["experiments"]["main"]["published"] = [number]


@pytest.mark.parametrize("change", [add_method, add_seed, add_experiment, describe])
def test_what_concerns_other_runs_changes_no_job(workflow, change):
    before, after = told(workflow()), told(workflow(change))
    assert {job: after[job] for job in before} == before
    kept, new = runs(workflow()), runs(workflow(change))
    assert kept.items() <= new.items()


@pytest.mark.parametrize("change", [add_classifier, reorder])
def test_another_classifier_changes_no_job_of_single_runs(workflow, change):
    before, after = told(workflow()), told(workflow(change))
    assert {job: after[job] for job in before if isinstance(job, tuple)} == {
        job: before[job] for job in before if isinstance(job, tuple)
    }
    assert runs(workflow()).items() <= runs(workflow(change)).items()


def change_method(content):
    content["experiments"]["main"]["methods"]["gem"]["steps"][0]["GEM"]["top"] = 2


def change_classifier(content):
    content["experiments"]["main"]["classifiers"]["CalibratedLeastSquares"] = {"params": {"ridge": 3.0}}


def change_grid(content):
    content["experiments"]["main"]["classifiers"]["LogisticRegression"]["grid"]["C"] = [0.1, 10.0]


def change_settings(content):
    content["experiments"]["kernel"]["settings"]["degree"] = 4


def change_validation(content):
    content["experiments"]["large"]["validation"] = {"fraction": 0.5}


@pytest.mark.parametrize(
    ("change", "concerned"),
    [
        (change_method, lambda run: run.startswith("s/main/gem/")),
        (change_classifier, lambda run: "s/main" in run and run.endswith("CalibratedLeastSquares")),
        (change_grid, lambda run: "s/main" in run and run.endswith("LogisticRegression")),
        (change_settings, lambda run: run.startswith("s/kernel/")),
        (change_validation, lambda run: run.startswith("s/large/")),
    ],
)
def test_run_keys_change_with_what_determines_the_result_and_with_nothing_else(workflow, change, concerned):
    before, after = runs(workflow()), runs(workflow(change))
    changed = {run for run in before if before[run] != after[run]}
    assert changed
    assert changed == set(filter(concerned, before))
    specs = told(workflow()), told(workflow(change))
    for folder, job in specs[0].items():
        if isinstance(folder, tuple) and folder[1]:
            single = any(run.startswith(f"{folder[0]}/") and run.endswith(folder[1]) for run in changed)
            assert (job[0] != specs[1][folder][0]) == single


def test_an_embedding_job_is_told_nothing_of_classifiers(workflow):
    for change in (change_classifier, change_grid, add_classifier):
        assert told(workflow(change))["s/main/gem", ""] == told(workflow())["s/main/gem", ""]


def test_a_time_limit_is_told_and_changes_no_key(workflow):
    def limited(content):
        content["time_limit"] = 7.0

    assert json.loads(workflow(limited).spec("s/main/gem").told)["time_limit"] == 7.0
    assert runs(workflow(limited)) == runs(workflow())


def test_the_path_of_a_run_is_part_of_its_key(workflow):
    here, there = runs(workflow()), runs(workflow(name="other"))
    assert not set(here.values()) & set(there.values())
    large = workflow().suites["s"].of("large")
    assert large[0].spec.steps == large[1].spec.steps
    assert not {run.key for run in large[0].runs} & {run.key for run in large[1].runs}


def test_what_a_job_is_told_survives_the_command_line(workflow):
    bench = workflow()
    for folder, method in bench._methods.items():
        assert JobSpec.model_validate_json(bench.spec(folder).told) == method.spec
        for classifier in method.spec.classifiers:
            spec = JobSpec.model_validate_json(bench.spec(folder).of_run(classifier).told)
            assert list(spec.classifiers) == [classifier]
            for seed in method.seeds:
                assert spec.key(seed, classifier) == method.spec.key(seed, classifier)


def test_a_run_has_the_same_key_in_a_job_of_its_own_and_in_a_shared_one():
    spec = plan_of(classifiers=["CalibratedLeastSquares", "LinearSVC"]).spec
    for classifier in spec.classifiers:
        assert spec.of_run(classifier).key(0, classifier) == spec.key(0, classifier)


def test_shared_jobs_and_large_ones_make_every_result_once(workflow):
    bench = workflow()
    made = []
    for jobs in bench.shared_jobs:
        if jobs.seeds:
            made += jobs.outputs
            continue
        for name in jobs.methods:
            for seed in bench.method(f"{jobs.suite}/{jobs.experiment}/{name}").seeds:
                made += [file.replace("{method}", name).replace("{seed}", str(seed)) for file in jobs.outputs]
    assert len(made) == len(set(made))
    shared = [folder for folder in bench._methods if folder not in bench.large]
    assert bench.large
    assert shared
    expected = {
        file for file in bench.results_of(["s"]) if file.removeprefix("results/").startswith(tuple(shared))
    }
    assert set(made) == expected
    assert {file for file in bench.results_of(["s"]) if file.endswith("record.json")} == set(
        bench.records("s")
    )


def test_outputs_of_a_rule_have_its_wildcards_in_all_of_them(workflow):
    for jobs in workflow().shared_jobs:
        for files in (jobs.outputs, (jobs.log,)):
            found = {("{method}" in file, "{seed}" in file) for file in files}
            assert found == {(not jobs.seeds, not jobs.seeds)}


def test_jobs_of_several_methods_hold_little_estimated_work_with_the_same_seeds():
    bench = Workflow({"suites": ["quick"]}, SUITES.parent / "config.yaml", SUITES, check=False)
    packs = [jobs for jobs in bench.shared_jobs if len(jobs.methods) > 1 and jobs.seeds]
    assert len(packs) > 50
    for jobs in packs:
        methods = [bench.method(f"{jobs.suite}/{jobs.experiment}/{name}") for name in jobs.methods]
        assert sum(method.seconds for method in methods) <= PACK_SECONDS
        assert {method.seeds for method in methods} == {jobs.seeds}
        assert len({method.spec.time_limit for method in methods}) == 1


def in_turn(tmp_path, **methods):
    """Plan methods on MNIST with three seeds, all of them with one seed before the next."""
    experiment = {"dataset": "mnist", "methods": methods, "classifiers": ["LogisticRegression"]}
    content = {"title": "t", "experiments": {"main": experiment | {"seeds": [0, 1, 2]}}}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    config = {"suites": ["s"], "seeds_in_turn": True}
    return Workflow(config, tmp_path / "config.yaml", tmp_path, check=False)


def test_in_turn_all_methods_run_with_one_seed_before_the_next_and_the_cheap_ones_first(tmp_path):
    wide = {"steps": [{"RandomFourierFeatures": {"n_components": 4000}}]}
    narrow = {"steps": [{"RandomDirections": {"n_components": 20}}]}
    bench = in_turn(tmp_path, wide=wide, narrow=narrow, raw={"steps": []})
    assert not bench.large
    first = sorted(bench.shared_jobs, key=lambda jobs: -jobs.priority)
    assert [jobs.seeds for jobs in first] == [(0,)] * 3 + [(1,)] * 3 + [(2,)] * 3
    assert [jobs.methods for jobs in first] == [("narrow",), ("raw",), ("wide",)] * 3
    made = [file for jobs in first for file in jobs.outputs]
    assert len(made) == len(set(made))
    assert set(made) == {file for file in bench.results_of(["s"]) if file.startswith("results/")}


def test_in_turn_little_work_is_one_job(workflow, tmp_path):
    bench = workflow()
    found = shared_jobs([bench.method("s/main/gem"), bench.method("s/main/random")], "results", in_turn=True)
    assert [(jobs.methods, jobs.seeds) for jobs in found] == [(("random", "gem"), (0, 1))]


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A folder of suites, the first of them the configuration's."""
    folder = tmp_path_factory.mktemp("suites")
    for name in ("quick", "one-table", "two"):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(CONTENT, sort_keys=False))
    return folder


@pytest.mark.parametrize(
    ("targets", "asked"),
    [
        ([], {"quick"}),
        (["data/prepared/digits.json"], {"quick"}),
        (["two"], {"quick", "two"}),
        (["results/one-table/main/gem/seed-0/CalibratedLeastSquares/record.json"], {"quick", "one-table"}),
        (["reports/index.html", "reports/two/index.html"], {"quick", "two"}),
        (["train_one_table_main_2"], {"quick", "one-table"}),
        (["paper"], {"quick", "one-table", "two"}),
        (["reports/paper/results.csv"], {"quick", "one-table", "two"}),
        (None, {"quick", "one-table", "two"}),
    ],
)
def test_a_command_asks_for_the_suites_that_its_targets_can_be_of(several, targets, asked):
    bench = Workflow({"suites": ["quick"]}, several / "config.yaml", several, check=False, targets=targets)
    assert set(bench.asked) == asked
    for jobs in bench.shared_jobs:
        for target in (jobs.name, *jobs.outputs):
            assert jobs.suite in bench._asked([target])


def test_suites_that_are_not_asked_for_are_read_but_their_components_are_not_imported(several, tmp_path):
    folder = tmp_path / "suites"
    shutil.copytree(several, folder)
    wrong = json.loads(json.dumps(CONTENT))
    wrong["experiments"]["main"]["methods"]["gem"] = {"steps": [{"GEM": {"topp": 1}}]}
    (folder / "two.yaml").write_text(yaml.safe_dump(wrong))
    config = {"suites": ["quick"]}
    Workflow(config, folder / "config.yaml", folder, targets=["one-table"])
    with pytest.raises(SuiteError, match="GEM has no parameter 'topp'"):
        Workflow(config, folder / "config.yaml", folder, targets=["two"])
    (folder / "two.yaml").write_text(yaml.safe_dump(wrong | {"titel": "t"}))
    with pytest.raises(SuiteError, match="titel"):
        Workflow(config, folder / "config.yaml", folder, targets=["one-table"])
    assert set(Workflow(config, folder / "config.yaml", folder, check=False, targets=[]).suites) == {"quick"}


def test_moments_are_found_in_whatever_suite_needs_them(several):
    every = Workflow({"suites": ["quick"]}, several / "config.yaml", several, check=False)
    gem = every.suites["two"].of("large")[0].spec
    rows = gem.rows("train", 0)
    others = several.with_name("others")
    shutil.copytree(several, others)
    raw = CONTENT | {
        "experiments": {"main": CONTENT["experiments"]["main"] | {"methods": {"raw": {"steps": []}}}}
    }
    (others / "quick.yaml").write_text(yaml.safe_dump(raw))
    bench = Workflow({"suites": ["quick"]}, others / "config.yaml", others, check=False, targets=[])
    assert bench.moment_job(gem.dataset, rows.label) == every.moment_job(gem.dataset, rows.label)
    with pytest.raises(KeyError):
        bench.moment_job(gem.dataset, "no-such-rows")


def test_a_search_embeds_on_one_part_and_the_run_on_all_training_rows():
    method = plan_of(
        methods={"m": {"steps": ["GEM"], "grid": {"gem__gamma": [0.1, 1.0]}}},
        classifiers={"CalibratedLeastSquares": {"grid": {"ridge": [0.1, 1.0, 10.0]}}},
    )
    spec = method.spec
    assert [point.embedding for point in spec.points("CalibratedLeastSquares")] == [0, 0, 0, 1, 1, 1]
    assert method.embeddings(0) == []
    assert [steps[0].params for steps in spec.embedding_points()] == [{"gamma": 0.1}, {"gamma": 1.0}]
    shared = plan_of(classifiers={"CalibratedLeastSquares": {"grid": {"ridge": [0.1]}}})
    assert len(shared.embeddings(0)) == 2


def test_moments_are_shared_by_the_methods_and_seeds_of_an_official_split(workflow):
    bench = workflow()
    first, second = (method.spec for method in bench.suites["s"].of("large"))
    rows = [first.rows("train", seed) for seed in (0, 1)]
    files = {file for spec in (first, second) for row in rows for file in bench.moments_of(spec, row)}
    assert len(files) == 1
    (file,) = files
    spec, row = bench.moment_job("mnist", file.rpartition("/")[2].removesuffix(".npz"))
    assert spec == JobSpec(dataset="mnist")
    assert row.name == "train"
    drawn = bench.method("s/main/gem").spec
    assert len({bench.moments_of(drawn, drawn.rows("train", seed))[0] for seed in (0, 1)}) == 2
    assert bench.moments_of(bench.method("s/main/random").spec, row) == []


def test_a_component_whose_package_is_missing_takes_no_moments(workflow):
    bench = workflow()
    spec = bench.method("s/main/gem").spec
    assert bench.uses_moments(spec)
    absent = replace(spec.components["GEM"], module="eigenbench_has_none", extra="peers")
    assert not bench.uses_moments(spec.model_copy(update={"components": spec.components | {"GEM": absent}}))


def test_content_key_ignores_the_order_of_keys():
    assert content_key({"a": 1, "b": [2]}) == content_key({"b": [2], "a": 1})
    assert content_key({"a": 1}) != content_key({"a": "1"})


def test_the_seeds_of_a_method_win_over_those_of_the_experiment():
    methods = methods_of(suite_of(methods={"a": {"seeds": [5]}, "b": {}}, seeds=[0, 1]))
    assert {name: method.seeds for name, method in methods.items()} == {"a": (5,), "b": (0, 1)}
    assert isinstance(suite_of(), Suite)
