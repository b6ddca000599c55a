"""The pages of methods say where each stands on the leaderboards of the reference results."""

import re
from pathlib import Path

import pandas as pd
import pytest

import eigenbench
from eigenbench.bench.suites.recipes import load_recipes

pytestmark = pytest.mark.workflow

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def pages():
    import method_pages

    return method_pages


def test_the_places_of_a_method_are_those_of_the_leaderboards(pages):
    board = pd.read_csv(REPOSITORY / "reports/reference/umap/leaderboard.csv")
    own = board[board.method == "umap"]
    text, *_ = pages.method_results.results("UMAP")
    counts = [int(count) for count in re.findall(r"\d+", text)]
    assert counts[:3] == [len(own), (own["rank"] == 1).sum(), own.tied.sum()]
    (place,) = [place for place in pages.method_results._places("UMAP") if place.experiment == "vowel"]
    lines = board[board.experiment == "vowel"].sort_values("rank")
    assert (place.rank, place.of) == (lines[lines.method == "umap"]["rank"].item(), len(lines))
    assert lines[lines.method != "umap"].iloc[0].method in place.best


def test_a_place_is_among_methods_at_one_size(pages):
    for suite, name, board, _ in pages.method_results._boards():
        assert board["metric"].nunique() == 1, (suite, name)


def test_every_method_with_a_recipe_has_results(pages):
    used = {step.component for recipe in load_recipes().values() for step in recipe.steps}
    assert [name for name in used & set(pages.methods()) if not pages.method_results.results(name)] == []


def test_what_is_not_ours_stands_among_the_rivals(pages):
    text = (REPOSITORY / "docs/methods/rivals.md").read_text()
    assert [name for name in set(pages.methods()) - set(eigenbench.__all__) if f"`{name}`" not in text] == []


def test_results_stand_between_description_and_references(pages):
    lines = ["Description.", "", "Notes", "-----", "Cost.", "", "References", "----"]
    pages.insert(None, "class", "eigenbench.PLST", eigenbench.PLST, None, lines)
    text = "\n".join(lines)
    order = ["Description", "Cost.", "Where it wins", "reference results", "References"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_every_method_of_ours_stands_in_an_example(pages):
    text = "".join(path.read_text() for path in (REPOSITORY / "docs/examples").glob("plot_*.py"))
    own = set(pages.methods()) & set(eigenbench.__all__)
    assert [name for name in sorted(own) if not re.search(rf"\b{name}\b", text)] == []
