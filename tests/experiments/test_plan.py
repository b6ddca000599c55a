import numpy as np
import pytest
from eigenbench.experiments.cells import with_params
from eigenbench.experiments.parts import shard_rows
from eigenbench.experiments.tasks import content_key

from eigenbench.datasets.catalogue import load_catalogue
from eigenbench.experiments.plan import default_shards, make_plan
from eigenbench.experiments.suite import StepSpec, Suite

SPLITS = {"digits": True, "mnist": False}


def suite(**changes):
    experiment = {
        "dataset": "mnist",
        "methods": {
            "gem": {"steps": ["GEM", "SignedPowers"]},
            "random": {"steps": [{"RandomDirections": {"n_components": 5}}]},
        },
        "classifiers": ["CalibratedLeastSquares", "SecondOrderLogistic"],
        "seeds": [0, 1, 2],
    }
    return Suite.model_validate({"name": "s", "title": "t", "experiments": {"main": experiment | changes}})


def tasks(plan, stage):
    return [task for unit in plan.units.values() if unit.stage == stage for task in unit.tasks]


def test_cells_are_methods_by_classifiers_by_seeds():
    plan = make_plan(suite(), SPLITS)
    assert len(plan.cells) == 2 * 2 * 3
    assert len({cell.run_key for cell in plan.cells}) == 12


def test_equal_work_is_done_once():
    plan = make_plan(suite(), SPLITS)
    assert len(tasks(plan, "moments")) == 1
    assert len(tasks(plan, "embed")) == 1 + 3, "GEM on an official split does not depend on the seed"
    assert len(tasks(plan, "train")) == (1 + 3) + (3 + 3), "calibrated least squares on GEM neither"


def test_deterministic_cells_are_marked():
    flags = {(c.method, c.classifier): c.deterministic for c in make_plan(suite(), SPLITS).cells}
    assert flags["gem", "CalibratedLeastSquares"]
    assert not flags["gem", "SecondOrderLogistic"]
    assert not flags["random", "CalibratedLeastSquares"]
    assert not any(c.deterministic for c in make_plan(suite(dataset="digits"), SPLITS).cells)


def test_a_random_split_makes_everything_depend_on_the_seed():
    assert len(tasks(make_plan(suite(dataset="digits"), SPLITS), "moments")) == 3


@pytest.mark.parametrize("pack", [False, True])
def test_units_cover_all_tasks_and_form_a_graph(pack):
    method = {"steps": ["GEM", "SignedPowers"], "grid": {"gem__gamma": [0.1, 1.0]}}
    classifier = {"CalibratedLeastSquares": {"grid": {"ridge": [0.1, 1.0, 10.0]}}}
    plan = make_plan(suite(methods={"gem": method}, classifiers=classifier, pack=pack), SPLITS)
    assert {key for unit in plan.units.values() for key in (task.key for task in unit.tasks)} == set(
        plan.unit_of
    )
    ready: set[str] = set()
    waiting = list(plan.units.values())
    while waiting:
        free = [unit for unit in waiting if all(other.id in ready for other in plan.upstream(unit))]
        assert free, "the units wait for each other"
        ready |= {unit.id for unit in free}
        waiting = [unit for unit in waiting if unit.id not in ready]


def test_a_search_fits_on_one_part_and_scores_on_the_other_and_never_on_test_rows():
    classifier = {"CalibratedLeastSquares": {"grid": {"ridge": [0.1, 1.0]}}}
    plan = make_plan(suite(classifiers=classifier, seeds=[0]), SPLITS)
    for cell in plan.cells:
        assert cell.select is not None
        for evaluation in cell.select.needs:
            assert evaluation.spec["part"]["name"] == "validation"
            (train,) = evaluation.needs
            assert train.spec["part"]["name"] == "fit"
            assert all(need.spec["part"]["name"] == "fit" for need in train.needs)
        assert cell.train.spec["part"]["name"] == "train"
        assert cell.final.spec["part"]["name"] == "test"
        assert cell.embed.needs == () or all(need.stage == "moments" for need in cell.embed.needs)


def test_packing_makes_one_job_of_many_tasks():
    single = make_plan(suite(), SPLITS)
    packed = make_plan(suite(pack=True), SPLITS)
    assert {cell.run_key for cell in single.cells} == {cell.run_key for cell in packed.cells}
    assert sum(unit.stage == "train" for unit in packed.units.values()) == 1
    assert sum(unit.stage == "train" for unit in single.units.values()) == 10


def test_run_keys_change_with_what_determines_the_result_and_with_nothing_else():
    base = {cell.run_key for cell in make_plan(suite(), SPLITS).cells}
    renamed = Suite.model_validate(suite().model_dump() | {"title": "another title", "name": "other"})
    assert {cell.run_key for cell in make_plan(renamed, SPLITS).cells} == base
    other = make_plan(suite(classifiers={"CalibratedLeastSquares": {"params": {"ridge": 3.0}}}), SPLITS)
    assert not base & {cell.run_key for cell in other.cells}


def test_content_key_ignores_the_order_of_keys():
    assert content_key({"a": 1, "b": [2]}) == content_key({"b": [2], "a": 1})
    assert content_key({"a": 1}) != content_key({"a": "1"})


def test_with_params_reaches_steps_and_classifier():
    steps = (StepSpec(component="GEM"), StepSpec(component="SignedPowers"), StepSpec(component="GEM"))
    point = {"gem-2__gamma": 5, "classifier__ridge": 7}
    changed, classifier = with_params(steps, StepSpec(component="CalibratedLeastSquares"), point)
    assert [step.params for step in changed] == [{}, {}, {"gamma": 5}]
    assert classifier.params == {"ridge": 7}


def test_batches_hold_every_cell_once():
    plan = make_plan(suite(pack=True, seeds=list(range(60))), SPLITS)
    batches = plan.batches()
    assert sorted(cell.run_key for cells in batches.values() for cell in cells) == sorted(
        c.run_key for c in plan.cells
    )
    assert max(len(cells) for cells in batches.values()) <= 100


def test_a_large_moment_pass_is_scattered_and_gathered():
    plan = make_plan(suite(shards=3), SPLITS)
    shards = [task for task in tasks(plan, "moments") if "shard" in task.spec]
    (merged,) = (task for task in tasks(plan, "moments") if "merge" in task.spec)
    assert [task.spec["shard"] for task in shards] == [0, 1, 2]
    assert set(merged.needs) == set(shards)
    assert all(need in (merged,) for task in tasks(plan, "embed") for need in task.needs)
    assert len({plan.unit_of[task.key].id for task in (*shards, merged)}) == 4


def test_packed_shards_are_done_before_the_job_that_merges_them():
    plan = make_plan(suite(shards=3, pack=True), SPLITS)
    (merged,) = (task for task in tasks(plan, "moments") if "merge" in task.spec)
    unit = plan.unit_of[merged.key]
    assert unit.tasks == (merged,)
    assert [other.stage for other in plan.upstream(unit)] == ["moments"]


def test_shards_follow_the_size_of_the_data():
    entry = load_catalogue().entry("mnist")
    assert default_shards(entry) == 1
    large = entry.model_copy(
        update={"expect": entry.expect.model_copy(update={"rows": {"train": 10**9}, "features": 1000})}
    )
    assert default_shards(large) == 50
    assert len(tasks(make_plan(suite(), SPLITS, {"mnist": 4}), "moments")) == 5


@pytest.mark.parametrize(("n_rows", "of"), [(10, 3), (3, 3), (1000, 7)])
def test_shards_are_all_rows_once(n_rows, of):
    rows = np.concatenate([np.arange(n_rows)[shard_rows(n_rows, shard, of)] for shard in range(of)])
    assert rows.tolist() == list(range(n_rows))
