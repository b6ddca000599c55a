"""Groups of jobs in a cluster job, from a dry run with a cluster's profile."""

import re
from itertools import chain
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.workflow

REPOSITORY = Path(__file__).resolve().parents[2]

CLASSIFIERS = {"CalibratedLeastSquares": {"grid": {"ridge": [0.1, 1.0]}}, "SecondOrderLogistic": {}}


@pytest.fixture
def plan(tmp_path, need_plugin, make_workflow):
    """Return a function from experiments, or one, to groups and other jobs, as lists of messages."""
    need_plugin("slurm")

    def make(experiments=None, **experiment):
        experiments = experiments or {"main": {"dataset": "digits", **experiment}}
        (tmp_path / "test.yaml").write_text(yaml.safe_dump({"title": "A test", "experiments": experiments}))
        return read(make_workflow(tmp_path / "run", "test", "slurm", tmp_path).run("--dry-run"))

    return make


def read(printed):
    """Return the groups of a dry run, each the messages of its jobs, and the messages of all other jobs."""
    groups, alone = [], []
    for line in printed.splitlines():
        if re.search(r"Group job (prepare|method)", line):
            groups.append([])
        elif job := re.match(r"( *)Job \d+: (.*)", line):
            (groups[-1] if job[1] else alone).append(job[2])
    return groups, alone


def random_methods(count, start=10):
    return {
        f"random{n}": {"steps": [{"RandomDirections": {"n_components": n}}]}
        for n in range(start, start + count)
    }


def test_jobs_of_whole_methods_are_joined_by_four(plan):
    methods = random_methods(10, start=9_000)
    groups, alone = plan(methods=methods, classifiers=CLASSIFIERS, seeds=[0, 1, 2])
    assert sorted(map(len, groups)) == [1, 2, 4, 4]
    assert sorted(chain.from_iterable(groups)) == [
        "prepare digits",
        *(f"train test/main: {name}" for name in methods),
    ]
    assert sorted(alone) == ["all done", "download digits", "report reports/", "track test"]


def test_small_datasets_are_prepared_by_eight(plan):
    small = ["digits", "mnist", "covtype", "letter", "usps", "a9a", "satimage", "vowel", "pendigits"]
    experiments = {
        name: {"dataset": name, "methods": {"raw": {"steps": []}}, "classifiers": ["LinearSVC"], "seeds": [0]}
        for name in [*small, "emnist"]
    }
    groups, alone = plan(experiments)
    prepared = [group for group in groups if group[0].startswith("prepare")]
    assert sorted(map(len, prepared)) == [1, 8]
    assert set(chain.from_iterable(prepared)) == {f"prepare {name}" for name in small}
    assert "prepare emnist" in alone


def test_large_runs_and_measurements_of_time_are_jobs_of_their_own(plan):
    methods = {"gem": {"steps": [{"GEM": {"top": 300}}, "SignedPowers"]}}
    large = {"dataset": "digits", "methods": methods, "classifiers": CLASSIFIERS, "seeds": [0, 1]}
    speed = {"dataset": "digits", "methods": random_methods(5), "protocol": "map_speed"}
    groups, alone = plan({"large": large, "speed": speed})
    assert groups == [["prepare digits"]]
    trained = {f"train test/large/gem, {name}, seed {seed}" for name in CLASSIFIERS for seed in (0, 1)}
    assert {message for message in alone if message.startswith("train")} == trained
    assert sum(message.startswith("measure test/speed/") for message in alone) == 5


@pytest.mark.slow
def test_no_group_of_the_suites_here_waits_for_itself(tmp_path, need_plugin, make_workflow):
    need_plugin("slurm")
    suites = REPOSITORY / "config" / "suites"
    names = ",".join(path.stem for path in sorted(suites.glob("*.yaml")))
    groups, _ = read(make_workflow(tmp_path / "run", names, "slurm", suites).run("--dry-run"))
    fitted = [group for group in groups if not group[0].startswith("prepare")]
    assert fitted
    assert max(len({method_and_seed(message) for message in group}) for group in fitted) <= 4


def method_and_seed(message):
    """Return what connects the jobs of a group: the folder, and the seed where a job makes only one."""
    return re.match(r"\w+ (.+?)(/seed-|, seed |, \w+, seed |$)", message)[1], *re.findall(
        r"seed[ -](\d+)", message
    )
