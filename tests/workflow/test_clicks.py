"""The clicks of docs/read_results.md lead to the answers, in report and dashboard of a real run."""

import os
import re
import shlex
import socket
import subprocess
import sys

import pandas as pd
import pytest

from eigenbench.reporting.display_names import method_name
from eigenbench.reporting.leaderboard import significance

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
expect = pytest.importorskip("playwright.sync_api", reason="pip install 'eigenbench[browser]'").expect

# Loading the dashboard's scripts takes seconds, and minutes on a machine that is busy.
PATIENCE_MS = 180_000
COMMAND = re.compile(r"snakemake (results/\S+/record\.json)")


@pytest.fixture(scope="module")
def board(finished):
    """Rows of the leaderboard with a rank, best first."""
    table = pd.read_csv(finished[0].folder / "reports/leaderboard.csv")
    return table[(table.experiment == "grid") & table["rank"].notna()]


@pytest.fixture(scope="module")
def verdict(finished):
    (row,) = pd.read_csv(finished[0].folder / "reports/comparison.csv").itertuples()
    return row.verdict


@pytest.fixture(scope="module")
def links(finished):
    """Run ``eigenbench ui``, and return the addresses that it prints, by title."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    command = [sys.executable, "-m", "eigenbench.cli", "ui", "--port", str(port)]
    with subprocess.Popen(
        command, cwd=finished[0].folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        printed = iter(server.stdout.readline, "")
        found = (re.fullmatch(r" *(.+): (http\S+)\n", line) for line in printed)
        titles = {one[1]: one[2] for one in iter(lambda: next(found), None)}
        assert titles, "the dashboard does not start: its message is on stderr"
        yield titles
        server.terminate()


@pytest.fixture
def page(browser):
    opened = browser.new_page(viewport={"width": 2200, "height": 900})
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    opened.close()


def methods_of(page, links):
    """Return the lines of an experiment's table in the dashboard, as lists of cells."""
    page.goto(links["tiny, grid"])
    page.get_by_text("compared with the best over").first.wait_for()
    return [line.split("\t") for line in page.locator("tbody tr").all_inner_texts() if line.strip()]


def runs_named(command, folder):
    """Return the record files that a command names, and check that each is one of a run."""
    paths = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {command}"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert all((folder / path).is_file() for path in paths)
    return paths


def test_dashboard_the_best_method_and_whether_it_is_significant(page, links, board):
    ranked = [line for line in methods_of(page, links) if line[0] != "–"]
    assert ranked[0][1].startswith(f"{method_name(board.iloc[0].method)} ")
    tied = board.tied.eq(True) & (board.tied.eq(True).sum() > 1)
    assert [line[0].endswith("=") for line in ranked] == tied.tolist()


def test_dashboard_whether_a_papers_number_was_reproduced(page, links, verdict):
    (line,) = (line for line in methods_of(page, links) if line[3])
    assert line[1].startswith("GEM ")
    assert line[3] == verdict


def test_dashboard_the_command_for_one_run(page, links, finished):
    page.goto(links["tiny"])
    page.locator("[row-index='0'] a[href*='/runs/']").first.click()
    expect(page.locator("body")).to_contain_text(COMMAND, timeout=PATIENCE_MS)
    command = COMMAND.search(page.locator("body").inner_text())[1]
    assert all(path.startswith("results/tiny/") for path in runs_named(command, finished[0].folder))


@pytest.fixture
def report(page, finished):
    page.goto((finished[0].folder / "reports/index.html").as_uri())
    return page


def answer(report):
    """Return the line of the first screen about the experiment."""
    line = report.locator("table[data-name=experiments] tr:has(a[href='#tiny-grid'])")
    assert line.bounding_box()["y"] + line.bounding_box()["height"] < 900, "on the first screen"
    return line


def test_report_the_best_method_and_whether_it_is_significant(report, board):
    said = answer(report).inner_text()
    assert method_name(board.iloc[0].method) in said
    assert significance(board) in said


def test_report_whether_a_papers_number_was_reproduced(report, verdict):
    answer(report).get_by_role("link").last.click()
    assert report.locator("tr:target").is_visible()
    numbers = report.locator("table[data-name=tiny-grid-published-numbers]")
    assert numbers.locator(".verdict").first.inner_text() == verdict


def test_report_the_command_for_one_run(report, board, finished):
    answer(report).get_by_role("link").first.click()
    leaderboard = report.locator("table[data-name=tiny-grid-leaderboard]")
    leaderboard.locator("tbody tr").first.get_by_role("link").first.click()
    (command,) = COMMAND.findall(report.locator("tr:target").inner_text())
    (path,) = runs_named(shlex.quote(command), finished[0].folder)
    assert path.startswith(f"results/tiny/grid/{board.iloc[0].method}/seed-")
