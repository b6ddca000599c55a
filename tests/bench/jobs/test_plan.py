"""From suites to runs and jobs: what a job is told is all that determines its runs, and nothing else."""

import json
import re
from types import SimpleNamespace

import pytest
import yaml
from small_jobs import methods_of, suite_of

from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.jobs.shared_jobs import job_code, shared_jobs
from eigenbench.bench.jobs.workflow import Workflow
from eigenbench.bench.suites.parts import SuiteError
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
    """Specification and code hash of every job, of whole methods and of single runs."""
    jobs = {}
    for folder, method in workflow._methods.items():
        verb = "measure" if method.spec.protocol else "train"
        jobs[folder] = (method.spec.as_json, job_code(verb, method.spec))
        for classifier in method.spec.classifiers:
            run = method.spec.of_run(classifier)
            jobs[folder, classifier] = (run.as_json, job_code("train", run))
    return jobs


def runs(workflow):
    return {run.folder: run.key for plan in workflow.plans.values() for run in plan.runs}


def test_runs_are_methods_by_classifiers_by_seeds(workflow):
    found = runs(workflow())
    assert len(found) == 2 * 2 * 2 + 2 * 2 * 2 + 1
    assert "s/main/gem/seed-1/LogisticRegression" in found
    assert "s/kernel/maclaurin/seed-0" in found
    assert len(set(found.values())) == len(found)


def test_a_short_suite_is_imported_at_once_and_a_long_one_experiment_by_experiment(workflow):
    long = workflow(lambda content: content["experiments"]["large"].update(seeds=list(range(40))))
    names = ("main", "large", "kernel")
    assert receipts(long) == [f"results/s/{name}/tracked.json" for name in names]
    assert receipts(workflow()) == ["results/s/tracked.json"]


def receipts(bench):
    return [file for file in bench.files_of(["s"]) if file.endswith("tracked.json")]


def test_keys_and_paths_are_unique_over_all_shipped_suites():
    catalogue = load_catalogue()
    plans = [plan_suite(load_suite(path), catalogue) for path in SUITES.glob("*.yaml")]
    found = [run for plan in plans for run in plan.runs]
    assert len(found) > 500
    assert len({run.folder for run in found}) == len(found)
    assert len({run.folder.casefold() for run in found}) == len(found)
    assert len({run.key for run in found}) == len(found)


def put(place, value):
    """Return a change: another value at a place among the experiments, which may be a new one."""

    def change(content):
        *path, last = place.split(".")
        inside = content["experiments"]
        for key in path:
            inside = inside[key]
        inside[last] = value

    return change


def reorder(content):
    main = content["experiments"]["main"]
    main["methods"] = dict(reversed(main["methods"].items()))
    main["classifiers"] = dict(reversed(main["classifiers"].items()))


def describe(content):
    content |= {"title": "another", "description": "more words"}
    content["experiments"]["main"] |= {"title": "one more", "headline": "test_errors"}
    number = {"source": "A paper", "method": "gem", "classifier": "CalibratedLeastSquares"}
    number |= {"metric": "test_errors", "value": 12}
    content["experiments"]["main"]["published"] = [number]


@pytest.mark.parametrize(
    ("change", "of_single_runs"),
    [
        (put("main.methods.new", {"steps": ["NeighborhoodGEM"]}), False),
        (put("main.seeds", [0, 1, 7]), False),
        (put("more", CONTENT["experiments"]["main"] | {"dataset": "mnist"}), False),
        (describe, False),
        (put("main.classifiers.LinearSVC", {}), True),
        (reorder, True),
    ],
)
def test_what_concerns_other_runs_changes_no_job(workflow, change, of_single_runs):
    """Another classifier changes the job of a whole method, and none of a single run."""
    before, after = told(workflow()), told(workflow(change))
    compared = [job for job in before if isinstance(job, tuple) or not of_single_runs]
    assert [after[job] for job in compared] == [before[job] for job in compared]
    assert runs(workflow()).items() <= runs(workflow(change)).items()


@pytest.mark.parametrize(
    ("place", "value", "concerned"),
    [
        ("main.methods.gem.steps", [{"GEM": {"top": 2}}, "SignedPowers"], r"s/main/gem/.*"),
        ("main.classifiers.CalibratedLeastSquares", {"params": {"ridge": 3.0}}, r"s/main/.*/Calibrated.*"),
        ("main.classifiers.LogisticRegression.grid.C", [0.1, 10.0], r"s/main/.*/LogisticRegression"),
        ("kernel.settings.degree", 4, r"s/kernel/.*"),
        ("large.validation", {"fraction": 0.5}, r"s/large/.*"),
    ],
)
def test_run_keys_change_with_what_determines_the_result_and_with_nothing_else(
    workflow, place, value, concerned
):
    change = put(place, value)
    before, after = runs(workflow()), runs(workflow(change))
    changed = {run for run in before if before[run] != after[run]}
    assert changed
    assert changed == {run for run in before if re.fullmatch(concerned, run)}
    specs = told(workflow()), told(workflow(change))
    for folder, job in specs[0].items():
        if isinstance(folder, tuple):
            single = any(run.startswith(f"{folder[0]}/") and run.endswith(folder[1]) for run in changed)
            assert (job[0] != specs[1][folder][0]) == single


def test_a_time_limit_is_told_and_changes_no_key(workflow):
    limited = workflow(lambda content: content.update(time_limit=7.0))
    assert json.loads(limited.spec("s/main/gem").as_json)["time_limit"] == 7.0
    assert runs(limited) == runs(workflow())


def test_the_path_of_a_run_is_part_of_its_key(workflow):
    here, there = runs(workflow()), runs(workflow(name="other"))
    assert not set(here.values()) & set(there.values())
    large = workflow().plans["s"].of("large")
    assert large[0].spec.steps == large[1].spec.steps
    assert not {run.key for run in large[0].runs} & {run.key for run in large[1].runs}


def test_what_a_job_is_told_survives_the_command_line(workflow):
    bench = workflow()
    for folder, method in bench._methods.items():
        assert JobSpec.model_validate_json(bench.spec(folder).as_json) == method.spec
        for classifier in method.spec.classifiers:
            spec = JobSpec.model_validate_json(bench.spec(folder).of_run(classifier).as_json)
            assert list(spec.classifiers) == [classifier]
            for seed in method.seeds:
                assert spec.key(seed, classifier) == method.spec.key(seed, classifier)


def test_shared_jobs_and_large_ones_make_every_result_once(workflow):
    bench = workflow()
    made = [f"results/{file}" for shared in bench.shared_jobs for file in shared.files]
    assert len(made) == len(set(made))
    folders = [folder for folder in bench._methods if folder not in bench.large]
    assert bench.large
    assert folders
    files = bench.files_of(["s"])
    assert set(made) == {file for file in files if file.removeprefix("results/").startswith(tuple(folders))}
    imported = bench.imported(SimpleNamespace(suite="s", only=""))
    assert {file for file in files if file.endswith("record.json")} == set(imported)
    alone = bench.imported(SimpleNamespace(suite="s", only="main/"))
    assert set(alone) == {file for file in imported if file.startswith("results/s/main/")}


def test_rules_have_different_names(workflow):
    """The second job of an experiment and the first of another, and a suite, would be called alike."""

    def change(content):
        main = content["experiments"]["main"]
        main["methods"]["more"] = {"seeds": [7]}
        content["experiments"] = {"main": main, "main_2": main}

    bench = workflow(change)
    names = [shared.name for shared in bench.shared_jobs]
    assert names == ["train_s_main", "train_s_main_2", "train_s_main_2_2", "train_s_main_2_3"]
    taken = [job.name for job in shared_jobs(bench.plans["s"].methods, rules=["train_s_main"])]
    assert taken == ["train_s_main_2", "train_s_main_3", "train_s_main_2_2", "train_s_main_2_3"]


def test_jobs_of_several_methods_hold_little_estimated_work_with_the_same_seeds():
    bench = Workflow({"suites": ["quick"]}, SUITES.parent / "config.yaml", SUITES, check=False)
    packs = [shared for shared in bench.shared_jobs if len(shared.methods) > 1]
    assert len(packs) > 50
    for shared in packs:
        assert shared.seconds <= 20
        assert len({method.seeds for method in shared.methods}) == 1
        assert len({method.spec.time_limit for method in shared.methods}) == 1
    assert len({shared.name for shared in bench.shared_jobs}) == len(bench.shared_jobs)
    assert set(bench.expected_seconds) > {shared.name for shared in bench.shared_jobs}
    assert 30 < bench.expected_seconds["train"] < 300, "the fits of quick, not those of suites that take days"


@pytest.mark.parametrize(
    ("cores", "local", "attempt", "threads"),
    [
        (2, True, 1, 1),
        (8, True, 1, 4),
        (8, True, 2, 8),
        (40, True, 1, 20),
        (8, False, 1, 8),
        (None, True, 1, 8),
    ],
)
def test_large_jobs_on_one_machine_share_its_cores_and_memory(monkeypatch, cores, local, attempt, threads):
    monkeypatch.setattr("eigenbench.bench.jobs.workflow.free_megabytes", lambda: 24_000.0)
    settings = {"resource_settings": SimpleNamespace(cores=cores), "storage_settings": None}
    workflow = SimpleNamespace(local_exec=local, is_main_process=True, **settings)
    bench = Workflow({"suites": ["quick"]}, SUITES / "x", SUITES, snakemake=workflow, check=False)
    assert bench.threads("quick/mnist/gem", attempt) == threads


def test_the_message_of_a_target_has_the_minutes_of_its_suites(workflow):
    assert workflow().message_of("s") == "all done"
    bench = workflow(lambda content: content.update(minutes=7))
    assert bench.message_of("s") == "all done (from nothing about 7 minutes on two cores)"


def test_a_seed_is_a_job_where_all_seeds_of_a_method_take_long(workflow):
    wide = {"steps": [{"RandomFourierFeatures": {"n_components": 4000}}], "seeds": list(range(400))}
    bench = workflow(lambda content: content["experiments"]["main"]["methods"].update(wide=wide))
    jobs = [shared for shared in bench.shared_jobs if "wide" in shared.message]
    assert [method.seeds for shared in jobs for method in shared.methods] == [(seed,) for seed in range(400)]
    assert jobs[7].message == "train s/main: wide, seed 7"
    made = [f"results/{file}" for shared in jobs for file in shared.files]
    assert sorted(made) == sorted(file for file in bench.files_of(["s"]) if "/main/wide/" in file)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"methods": {"gem": {"steps": [{"GEM": {"topp": 1}}]}}}, "GEM has no parameter 'topp'"),
        ({"x": 1}, "x"),
    ],
)
def test_a_suite_that_is_not_asked_for_is_checked_too(workflow, tmp_path, change, match):
    workflow()
    wrong = CONTENT | {"experiments": {"main": CONTENT["experiments"]["main"] | change}}
    (tmp_path / "suites" / "two.yaml").write_text(yaml.safe_dump(wrong))
    with pytest.raises(SuiteError, match=match):
        Workflow({"suites": ["s"]}, tmp_path / "config.yaml", tmp_path / "suites")


def test_the_targets_are_the_configured_suites_each_suite_those_of_papers_and_all(workflow, tmp_path):
    workflow()
    of_a_paper = CONTENT | {"deviations": [{"paper": "Five draws", "here": "One", "why": "To save time"}]}
    for name, content in {"quick": of_a_paper, "one-table": of_a_paper, "two-tables": CONTENT}.items():
        (tmp_path / "suites" / f"{name}.yaml").write_text(yaml.safe_dump(content))
    bench = Workflow({"suites": ["quick"]}, tmp_path / "config.yaml", tmp_path / "suites", check=False)
    assert list(bench.targets) == ["all", "one-table", "quick", "s", "two-tables", "paper", "every_suite"]
    assert bench.targets["all"] == ["quick"]
    assert bench.targets["paper"] == ["one-table"]
    assert bench.targets["every_suite"] == ["one-table", "s", "two-tables"]
    (tmp_path / "suites" / "one-table.yaml").unlink()
    bench = Workflow({"suites": ["quick"]}, tmp_path / "config.yaml", tmp_path / "suites", check=False)
    assert list(bench.targets) == ["all", "quick", "s", "two-tables", "every_suite"]
    assert bench.report_files("all")[0] == "reports/index.html"
    assert bench.report_files("s")[0] == "reports/s/index.html"
    assert [bench.reported(SimpleNamespace(report=report)) for report in ("", "s/")] == [["quick"], ["s"]]


def test_the_seeds_of_a_method_win_over_those_of_the_experiment():
    methods = methods_of(suite_of(methods={"a": {"seeds": [5]}, "b": {}}, seeds=[0, 1]))
    assert {name: method.seeds for name, method in methods.items()} == {"a": (5,), "b": (0, 1)}
