"""The page in a real browser: sorting, filtering, hover, narrow, dark, printed, without scripts, by axe."""

import csv
import re
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest
from record_files import plan_of

from eigenbench.reporting.inputs import ReportInputs
from eigenbench.reporting.site import render

pytest.importorskip("playwright.sync_api", reason="pip install 'eigenbench[browser]'")
pytestmark = pytest.mark.workflow

PHONE = {"width": 390, "height": 800}
BOARD = "table[data-name$='-leaderboard']"


@pytest.fixture(scope="module")
def address(tmp_path_factory, suite, suite_path, records) -> str:
    folder = tmp_path_factory.mktemp("reports")
    return render(ReportInputs([plan_of(suite)], {"quick": suite_path}, records), folder).as_uri()


@pytest.fixture
def visit(browser, address):
    pages = []

    def visit(**options):
        pages.append(browser.new_page(**options))
        pages[-1].goto(address)
        return pages[-1]

    yield visit
    for page in pages:
        page.close()


@pytest.fixture
def page(visit):
    return visit()


def column(table, place: int) -> list[str]:
    cells = table.locator(f"tbody tr > :nth-child({place})").all_inner_texts()
    return [cell.split("\n")[0].strip() for cell in cells]


def test_it_asks_for_nothing_and_reports_no_error(browser, address):
    page = browser.new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    assert (asked, said) == ([address], [])
    page.evaluate("fetch('http://127.0.0.1:9/').catch(() => 0)")
    assert re.search("Content Security Policy", said[0]), "the page forbids itself the network"
    page.close()


def test_headings_sort_by_mouse_and_keyboard(page):
    table = page.locator(BOARD).nth(1)
    table.scroll_into_view_if_needed()
    before = column(table, 2)
    heading = table.locator("thead th").nth(2)
    assert heading.inner_text().startswith("Test error (%)")
    button = heading.locator("button")
    button.click()
    values = [value.split(" ")[0] for value in column(table, 3)]
    numbers = [float(value) for value in values if value not in ("–", "no")]
    assert heading.get_attribute("aria-sort") == "ascending"
    assert numbers == sorted(numbers)
    button.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    values = [value.split(" ")[0] for value in column(table, 3)]
    assert [float(value) for value in values[: len(numbers)]] == sorted(numbers, reverse=True)
    assert 0 < len(numbers) < len(values), "what is missing stays last"
    button.press("Space")
    assert heading.get_attribute("aria-sort") is None
    assert column(table, 2) == before
    table.locator("thead button").nth(1).press("Enter")
    assert column(table, 2) == sorted(before)
    assert table.locator("[aria-sort]").count() == 1


def test_published_numbers_stay_under_their_source(page):
    table = page.locator("table:has(th[scope=rowgroup])").first
    heads = table.locator("th[scope=rowgroup]").all_inner_texts()
    table.locator("thead button").nth(2).click()
    for body in table.locator("tbody").all():
        first, *rows = body.locator("tr").all()
        assert first.locator("th[scope=rowgroup]").count() == 1
        published = [float(row.locator("td").nth(1).inner_text().split()[0]) for row in rows]
        assert published == sorted(published)
    assert table.locator("th[scope=rowgroup]").all_inner_texts() == heads


def test_one_filter_for_tables_and_charts(page):
    rows = page.locator("tr[data-method]:visible")
    n_before = rows.count()
    page.get_by_label("Show only methods").fill("pca, random")
    names = {row.get_attribute("data-method") for row in rows.all()}
    assert names == {"PCA", "Random directions"}
    assert re.fullmatch(r"\d+ of \d+ rows", page.get_by_role("status").inner_text())
    dim, clear = page.locator("svg [data-method].dim"), page.locator("svg [data-method]:not(.dim)")
    assert {mark.get_attribute("data-method") for mark in clear.all()} == {"PCA", "Random_directions"}
    assert dim.count() > 0
    page.get_by_label("Show only methods").fill("")
    assert rows.count() == n_before
    assert dim.count() == 0


def test_the_filter_finds_a_whole_name_alone_and_stands_in_the_address(page, browser):
    rows = page.locator("tr[data-method]:visible")
    page.get_by_label("Show only methods").fill("gem")
    assert {row.get_attribute("data-method") for row in rows.all()} == {"GEM"}
    assert page.url.endswith("?methods=gem")
    n_rows = rows.count()
    again = browser.new_page()
    again.goto(page.url)
    assert again.get_by_label("Show only methods").input_value() == "gem"
    assert again.locator("tr[data-method]:visible").count() == n_rows
    again.get_by_label("Show only methods").fill("ge")
    assert {row.get_attribute("data-method") for row in again.locator("tr[data-method]:visible").all()} == {
        "GEM",
        "Deep GEM",
    }
    again.close()


def test_the_filter_finds_a_name_with_a_comma(address, browser):
    report = Path(url2pathname(urlparse(address).path))
    other = report.with_name("comma.html")
    other.write_text(report.read_text().replace('data-method="PCA"', 'data-method="PCA, p = 3"'))
    page = browser.new_page()
    page.goto(other.as_uri())
    assert page.locator("datalist option[value='PCA, p = 3']").count() == 1
    both = {"PCA, p = 3", "Random directions"}
    for typed, found in (("PCA, p = 3", {"PCA, p = 3"}), ("pca, random", both)):
        page.get_by_label("Show only methods").fill(typed)
        rows = page.locator("tr[data-method]:visible").all()
        assert {row.get_attribute("data-method") for row in rows} == found
    page.close()


def test_columns_are_chosen_and_saved_as_shown(page):
    board = page.locator(BOARD).nth(1)
    tools = page.locator(f"div:has(> {BOARD}) + .tools").nth(1)
    assert board.locator("thead th:visible").count() == 6
    tools.locator("summary").click()
    tools.get_by_label("Log loss").check()
    assert board.locator("thead th:visible").count() == 7
    page.get_by_label("Show only methods").fill("gem")
    with page.expect_download() as download:
        tools.get_by_role("button", name="Save as CSV").click()
    assert download.value.suggested_filename == "quick-digits-leaderboard.csv"
    rows = list(csv.reader(download.value.path().open(encoding="utf-8")))
    assert (len(rows[0]), rows[0][-1]) == (7, "Log loss")
    assert {row[1].partition(" + ")[0] for row in rows[1:]} == {"GEM"}


def test_a_command_is_copied(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("summary", has_text="Every run").first.click()
    page.locator("td.command button").first.click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"snakemake results/quick/mnist/\S+/record.json", copied)


@pytest.mark.parametrize("viewport", [{"width": 1400, "height": 900}, PHONE], ids=["desk", "phone"])
def test_nothing_is_wider_than_its_place(visit, viewport):
    page = visit(viewport=viewport)
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    wide = "(one) => one.scrollWidth > one.clientWidth + 1"
    places = "[...document.querySelectorAll('.scroll, figure > div')]"
    assert page.evaluate(f"{places}.filter({wide}).map((one) => one.ariaLabel)") == []


def test_the_names_of_a_forest_plot_are_large_enough_on_a_phone_and_inside(visit):
    page = visit(viewport=PHONE)
    names = page.locator(".forest svg text[style*='end']")
    boxes = [name.bounding_box() for name in names.all()]
    assert len(boxes) > 5
    assert min(box["height"] for box in boxes) >= 11
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)


def test_paper_shows_what_is_folded(page):
    folded = page.locator("details:not(.columns, [open])")
    n_folded = folded.count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert n_folded > folded.count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert folded.count() == n_folded


def test_the_first_chart_is_on_the_first_screen(visit):
    page = visit(viewport={"width": 1400, "height": 900})
    box = page.locator("figure svg").first.bounding_box()
    assert box["y"] + box["height"] < 900


def test_keys_and_touch_read_the_values_of_a_chart(page):
    chart = page.locator("figure > [role=img]:has([data-method])").first
    said = page.locator("figure:has([data-method]) > .said").first
    titles = chart.locator("[data-method] > title").all_text_contents()
    chart.focus()
    read = []
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
        read.append(said.inner_text())
    assert read == [titles[0], titles[1], titles[0], titles[-1]]
    page.get_by_label("Show only methods").fill("gem")
    chart.focus()
    page.keyboard.press("ArrowRight")
    assert said.inner_text().startswith("GEM")
    page.get_by_label("Show only methods").fill("")
    assert said.inner_text() == ""
    chart.locator("[data-method]:has(> title)").nth(2).dispatch_event("click")
    assert said.inner_text() == titles[2]


def test_without_scripts_everything_is_there(visit):
    page = visit(java_script_enabled=False)
    assert page.locator("thead button").count() == 0
    assert page.locator("[role=search]").is_hidden()
    assert page.locator(BOARD).first.is_visible()


def test_a_link_opens_what_is_folded(page):
    line = page.locator("table[data-name=experiments] tr", has_text="Digits")
    line.get_by_role("link").nth(1).click()
    assert page.locator("tr:target td.command").is_visible(), "the best method leads to its command"


def test_it_is_printed_black_on_white_without_controls_and_nothing_is_cut(visit):
    page = visit(color_scheme="dark", viewport={"width": 720, "height": 1000})
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(20, 24, 29)"
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    assert page.locator("[role=search]").is_hidden()
    wide = "[...document.querySelectorAll('table, svg')].filter((one) => one.scrollWidth > innerWidth)"
    assert page.evaluate(f"{wide}.map((one) => one.dataset.name)") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [{"width": 1200, "height": 900}, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing(visit, violations, scheme, viewport):
    page = visit(color_scheme=scheme, viewport=viewport)
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert not (found := violations(page)), "\n".join(found)
