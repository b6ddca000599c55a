"""Forest plots: every ranked method, its interval and the published number, best first."""

from __future__ import annotations

from xml.etree import ElementTree

from record_files import plan_of

from eigenbench.reporting.display_names import method_name
from eigenbench.reporting.figures import forest_plot
from eigenbench.reporting.leaderboard import leaderboard
from eigenbench.reporting.published import compare_published
from eigenbench.reporting.replicates import group_runs


def test_every_ranked_method_has_a_line_with_its_numbers(suite, few):
    board = leaderboard(plan_of(suite), "mnist", few)
    published = compare_published(suite, "mnist", group_runs([plan_of(suite)], few)["quick", "mnist"])
    root = ElementTree.fromstring(forest_plot(board, published).svg("k"))
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert [title.partition(":")[0] for title in titles] == [
        method_name(line.method) for line in board.itertuples()
    ]
    (gem,) = [title for title in titles if title.startswith("GEM: ")]
    assert gem.endswith("111 [92.3, 133.5], published 108")


def test_one_method_is_no_forest(suite, few):
    board = leaderboard(plan_of(suite), "mnist", few)
    assert forest_plot(board.head(1), []) is None
