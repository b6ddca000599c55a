"""Recipes: every registered transformer has one, each works on small tables, and widths are what is asked."""

import numpy as np
import pandas as pd
import pytest

from eigenbench.bench.components import MissingExtraError
from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.jobs.pipelines import fit_features, transform
from eigenbench.bench.jobs.plan import load_plan
from eigenbench.bench.registry import COMPONENTS
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.recipes import load_recipes, of_width
from eigenbench.bench.suites.steps import Step, grid_points, grid_size, nested_steps, with_params
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets.project_files import project_folder
from eigenbench.reproduction.reference import default_reference_folder

pytestmark = pytest.mark.contract


def components(steps):
    inner = nested_steps([list(step.params.values()) for step in steps], COMPONENTS)
    return {step.component for step in steps} | {name for name, _ in inner}


#: Registered transformers without a recipe of their own, and why.
WITHOUT_RECIPE: dict[str, str] = {
    "ContractedGEM": "its targets are numbers; suite `real_targets`",
    "OrientedPCA": "needs rows that are declared noise; suite `gem_relatives`",
    "TemporalHyperbolicPCA": "needs rows in the order of time",
    "UMAP": "each process compiles it for a quarter of a minute; suite `umap`",
    "TruncatedSVD": "is PCA on scaled columns; suite `rembrandt_multilabel` has it on sparse rows",
}


def features(steps, n_classes, n_features=8):
    generator = np.random.default_rng(0)
    y = np.arange(120) % n_classes
    X = generator.normal(size=(120, n_features)) + generator.normal(size=(n_classes, n_features))[y]
    job = JobSpec(dataset="made", steps=steps, components=COMPONENTS)
    try:
        fitted = fit_features(job, steps, X.astype(np.float32), y, seed=0)
    except MissingExtraError as error:
        pytest.skip(str(error))
    return transform(fitted, X.astype(np.float32))


def test_every_transformer_has_a_recipe_or_a_reason():
    used = set().union(*(components(recipe.steps) for recipe in load_recipes().values()))
    for name, component in COMPONENTS.items():
        if component.kind in ("embedding", "expansion") and name not in used:
            assert name in WITHOUT_RECIPE, f"{name} has no recipe: add one, or say why there is none"
    assert not used & set(WITHOUT_RECIPE)
    assert set(WITHOUT_RECIPE) <= set(COMPONENTS)


def test_every_transformer_stands_in_a_suite_or_needs_time():
    used = set()
    for path in (project_folder() / "config" / "suites").glob("*.yaml"):
        for experiment in load_suite(path).experiments.values():
            for method in experiment.methods.values():
                used |= components((*method.steps, Step(component="x", params=method.grid)))
            for classifier in experiment.classifiers.values():
                used |= components((Step(component="x", params={**classifier.params, **classifier.grid}),))
    absent = {name for name, one in COMPONENTS.items() if one.kind in ("embedding", "expansion")} - used
    assert absent <= {"TemporalHyperbolicPCA"}


@pytest.mark.parametrize("n_classes", [2, 12])
@pytest.mark.parametrize("name", load_recipes())
@pytest.mark.filterwarnings("ignore")
def test_a_recipe_works_at_both_ends_of_its_grid(name, n_classes):
    recipe = load_recipes()[name]
    for point in {0: grid_points(recipe.grid)[0], 1: grid_points(recipe.grid)[-1]}.values():
        made = features(with_params(recipe.steps, point), n_classes)
        assert np.isfinite(made).all()
        assert made.std(axis=0).max() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", load_recipes())
@pytest.mark.filterwarnings("ignore")
def test_a_recipe_makes_the_number_of_features_that_is_asked(name):
    recipe = of_width(load_recipes()[name], 60)
    if recipe is None:
        assert name in ("raw", "random_trees", "gem_and_fourier")
    else:
        made = features(with_params(recipe.steps, grid_points(recipe.grid)[0]), n_classes=6)
        limited = name in ("gem_neighborhoods", "gem_subclasses")
        assert made.shape[1] == 60 or (limited and made.shape[1] < 60)
        assert recipe.width not in recipe.grid


@pytest.fixture(scope="module")
def tables_of_comparison():
    plan = load_plan(project_folder() / "config" / "suites" / "comparison.yaml")
    return [method for method in plan.methods if method.spec.validation and not method.spec.propensity]


def test_every_method_of_comparison_searches_24_points(tables_of_comparison):
    assert {method.spec.experiment for method in tables_of_comparison} >= {"vowel", "sonar"}
    for method in tables_of_comparison:
        for classifier in filter(method.spec.searches, method.spec.classifiers):
            points = method.spec.points(classifier)
            assert len(points) == 24
            assert len({str(point.params) for point in points}) == 24
            assert [point.embedding for point in points] == sorted(point.embedding for point in points)


def test_each_embedding_of_a_search_meets_small_and_large_penalties(tables_of_comparison):
    for method in tables_of_comparison:
        if "LogisticRegression" in method.spec.classifiers:
            points = method.spec.points("LogisticRegression")
            values = [point.params["classifier__C"] for point in points]
            assert (min(values), max(values), len(set(values))) == (1e-4, 1e3, 24)
            for number in range(len(method.spec.embedding_points())):
                own = [point.params["classifier__C"] for point in points if point.embedding == number]
                assert len(own) >= 3
                assert max(own) > 1e4 * min(own)


def test_few_choices_of_the_pilot_lie_at_the_edge_of_their_grid(tables_of_comparison):
    """Three tables and two seeds, by benchmarks/search_edges.py."""
    pilot = pd.read_csv(project_folder() / "benchmarks" / "search_edges.csv")
    assert pilot["dataset"].nunique() == 3
    assert set(pilot["method"]) <= {method.spec.method for method in tables_of_comparison}
    assert (pilot["candidates"] == 24).all()
    assert pilot["at_edge"].sum() <= 0.2 * pilot["choices"].sum()
    penalties = pilot[pilot["parameter"] == "classifier__C"]
    assert penalties["at_edge"].sum() <= 0.05 * penalties["choices"].sum()


def test_keys_of_searches_are_those_of_the_reference():
    plan = load_plan(project_folder() / "config" / "suites" / "comparison.yaml")
    folder = default_reference_folder() / "comparison"
    made = pd.concat(pd.read_csv(path, usecols=["run_key"]) for path in folder.glob("results*.csv"))
    assert {run.key for run in plan.runs} == set(made["run_key"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gem: {steps: [GEM], widht: a}", "gem.widht: unknown key 'widht'. Did you mean 'width'?"),
        ("gem: {steps: [GEMM]}", "gem.steps.0: "),
        ("gem: {steps: [GEM]", "line 2: "),
        ("", "file: "),
    ],
)
def test_a_fault_in_the_file_of_recipes_is_named(tmp_path, text, words):
    path = tmp_path / "recipes.yaml"
    path.write_text(text)
    with pytest.raises(SuiteError) as error:
        load_recipes(path)
    assert str(error.value).startswith(f"{path}: {words}")


def test_no_recipe_is_tuned_much_more_than_another():
    assert all(grid_size(recipe.grid) <= 6 for recipe in load_recipes().values())
