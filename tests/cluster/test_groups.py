"""Which jobs share a cluster job."""

from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml

from eigenbench.experiments.dag import Dag
from eigenbench.experiments.plan import RUNS_PER_GROUP

REPOSITORY = Path(__file__).resolve().parents[2]


def make_dag(suites_dir, suites):
    return Dag({"suites": suites}, REPOSITORY / "config" / "config.yaml", suites_dir, check=False)


def group_graph(dag):
    """Return what each cluster job waits for: a group, or a unit that is a job of its own."""
    graph = {}
    for plan in dag.plans.values():
        for unit in plan.units.values():
            here = dag.unit_group(unit.id) or unit.id
            needed = {dag.unit_group(other.id) or other.id for other in plan.upstream(unit)}
            graph.setdefault(here, set()).update(needed - {here})
    return graph


def write(folder, **experiment):
    base = {"dataset": "digits", "classifiers": {"CalibratedLeastSquares": {"grid": {"ridge": [0.1, 1.0]}}}}
    suite = {"title": "A test", "experiments": {"main": base | experiment}}
    (folder / "test.yaml").write_text(yaml.safe_dump(suite))
    return make_dag(folder, ["test"])


@pytest.fixture
def methods():
    steps = {f"random{n}": [{"RandomDirections": {"n_components": n}}] for n in range(10, 20)}
    return {name: {"steps": value} for name, value in steps.items()}


def test_no_group_of_the_suites_here_waits_for_itself():
    dag = make_dag(REPOSITORY / "config" / "suites", ["quick"])
    assert dag.groups
    TopologicalSorter(group_graph(dag)).prepare()


def test_candidates_and_records_of_a_method_are_in_its_group(tmp_path, methods):
    dag = write(tmp_path, methods=methods)
    plan = dag.plans["test"]
    for cell in plan.cells:
        groups = {dag.unit_group(unit.id) for unit in plan.behind(cell)}
        assert groups == {f"test.main.{cell.method}"} == {dag.record_group("test", cell.run_key)}


def test_a_large_packed_experiment_is_cut_between_methods(tmp_path, methods):
    dag = write(tmp_path, methods=methods, pack=True, seeds=list(range(25)))
    plan = dag.plans["test"]
    found = {}
    for cell in plan.cells:
        found.setdefault(plan.group_of[cell.run_key], []).append(cell.method)
    assert all(RUNS_PER_GROUP <= len(runs) < RUNS_PER_GROUP + 25 for runs in list(found.values())[:-1])
    assert sum(len(set(runs)) for runs in found.values()) == len(methods), "a method is in one group"
    for cell in plan.cells:
        own = plan.group_of[cell.run_key]
        assert {dag.unit_group(unit.id) for unit in plan.behind(cell)} == {own}, "its units hold nothing else"
    TopologicalSorter(group_graph(dag)).prepare()


def test_what_serves_many_methods_or_is_long_is_a_job_of_its_own(tmp_path):
    gem = {"gem": {"steps": ["GEM"]}}
    small = write(tmp_path, methods=gem)
    alone = {unit.stage for unit in small.plans["test"].units.values() if small.unit_group(unit.id) is None}
    assert alone == {"moments"}
    entries = small.catalogue.datasets.items()
    dataset = next(name for name, entry in entries if entry.target == "multiclass" and _values(entry) > 10**8)
    large = write(tmp_path, methods=gem, dataset=dataset)
    assert all(large.unit_group(unit.id) is None for unit in large.plans["test"].units.values())


def _values(entry):
    return sum(entry.expect.rows.values()) * entry.expect.features
