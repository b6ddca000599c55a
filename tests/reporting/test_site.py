"""The page: whole, self-contained, safe, the same each time, and written all or nothing."""

import base64
import csv
import hashlib
import random
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from html_page import Page
from record_files import plan_of

from eigenbench.bench.records.record import Failure
from eigenbench.bench.suites.parts import Deviation
from eigenbench.bench.suites.suite import Suite
from eigenbench.reporting import ReportError
from eigenbench.reporting.display_names import dataset_name, method_name
from eigenbench.reporting.formatting import metric_style
from eigenbench.reporting.inputs import ReportInputs
from eigenbench.reporting.leaderboard import leaderboard, line_titles, significance
from eigenbench.reporting.parameters import parameters_of
from eigenbench.reporting.site import render

pytestmark = pytest.mark.workflow


def content(folder):
    """Return every file in a folder by its name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def build(tmp_path, suite, suite_path, records):
    def build(chosen=records, shown=suite, **options) -> str:
        inputs = ReportInputs([plan_of(shown)], {"quick": suite_path}, chosen, **options)
        return render(inputs, tmp_path / "reports").read_text(encoding="utf-8")

    return build


@pytest.fixture(scope="module")
def report(tmp_path_factory, suite, suite_path, records) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    return render(ReportInputs([plan_of(suite)], {"quick": suite_path}, records), folder)


@pytest.fixture(scope="module")
def text(report) -> str:
    return report.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text) -> Page:
    return Page(text)


def test_the_page_loads_nothing(text, page):
    assert {tag for tag, _ in page.tags} & {"link", "iframe", "img", "object", "embed"} == set()
    assert page.values("src") == []
    links = page.values("href") + page.values("xlink:href")
    tables = {
        f"{name}.csv" for name in ("results", "comparison", "leaderboard", "ranks", "pairs", "searches")
    }
    assert {link for link in links if not link.startswith(("#", "data:image/png;base64,"))} == tables
    assert re.findall(r"url\((?!#)|@import|@font-face", text) == []
    (policy,) = (value for value in page.values("content") if value.startswith("default-src 'none'; "))
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_links_and_identifiers_match(page):
    identifiers = page.values("id")
    assert [name for name, count in Counter(identifiers).items() if count > 1] == []
    targets = {link[1:] for link in page.values("href") + page.values("xlink:href") if link.startswith("#")}
    labels = {name for value in page.values("aria-labelledby") for name in value.split()}
    assert targets | labels <= set(identifiers)


def test_tables_and_pictures_are_described(page):
    tags = Counter(tag for tag, _ in page.tags)
    assert tags["table"] == tags["caption"] > 8
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    pictures = [attributes for _, attributes in page.tags if attributes.get("role") == "img"]
    assert len(pictures) == tags["svg"] == tags["figcaption"] == 14
    assert all(attributes["aria-label"] for attributes in pictures)


def test_every_published_number_and_its_verdict_is_shown(page, suite):
    for experiment in suite.experiments.values():
        for number in experiment.published:
            assert metric_style(number.metric).exact(number.value) in page.text
            assert number.source in page.text
            assert (number.label or method_name(number.method)) in page.text
    for verdict in ("reproduced", "better", "off", "not run a neural network, only quoted"):
        assert verdict in page.text


def test_runs_without_a_result_are_shown(page):
    assert "failed in train: MemoryError: needs 9 GB has 6 GB logs/train/ab12.log" in page.text
    assert page.text.count("the download of digits was refused by every source") == 3
    assert "1 of 3 seeds have no record" in page.text
    assert "Runs: 59 ok, 1 failed, 3 not run, 1 no record." in page.text.replace(" ,", ",").replace(" .", ".")
    assert page.values("href").count("#problems") > 3, "the counts lead there, and cells without a result"


def test_uncertain_verdicts_are_counted_apart_and_explained(build, make_record):
    runs = [
        make_record("digits", "pca", "LinearSVC", seed, metrics={"test_error": error})
        for seed, error in enumerate((0.01, 0.025, 0.035))
    ]
    first = Page(build(chosen=runs)).text.partition("Dataset")[0]
    assert "1 reproduced †" in first
    assert "† The mean is outside the tolerance, but a single run could reach" in first
    exact = [run.model_copy(update={"metrics": {"test_error": 0.021}}) for run in runs]
    assert "†" not in Page(build(chosen=exact)).text.partition("Dataset")[0]


def test_runs_are_linked_to_their_records_and_logs(tmp_path, suite, suite_path, few, results_dir):
    logs = tmp_path / "logs"
    of_run = logs / "quick/mnist/gem/seed-0/CalibratedLeastSquares/train.log"
    of_run.parent.mkdir(parents=True)
    of_run.write_text("log")
    inputs = ReportInputs([plan_of(suite)], {"quick": suite_path}, few, results_dir)
    report = render(inputs, tmp_path / "reports/a b", logs)
    links = [link for link in Page(report.read_text(encoding="utf-8")).values("href") if "../" in link]
    found = {(report.parent / link).resolve() for link in links}
    assert {path for path in found if path.name == "record.json"} == set(results_dir.rglob("record.json"))
    of_runs = {path for path in found if path.is_relative_to(logs)}
    assert of_runs == {of_run, logs / "quick/mnist"}, "runs that share a job: their experiment"


def test_the_first_screen_says_what_is_best_and_whether_that_is_significant(page, suite, records):
    for name in suite.experiments:
        board = leaderboard(plan_of(suite), name, records)
        assert f"{dataset_name(name)} {line_titles(board)[0]}" in page.text
        others = board[board["rank"].notna()].iloc[1:]
        n_tied = int(others["tied"].fillna(False).sum())
        says = significance(board)
        assert says.startswith(f"no: ties with {n_tied} other" if n_tied else ("yes: better than", "unknown"))
        assert says in page.text


def test_provenance_is_shown(page, records, suite_path):
    environment, info = records[0].environment, records[0].dataset_info
    shown = [environment.python, environment.cpu, environment.git_commit, environment.code_hash]
    shown += ["with uncommitted changes", "numpy 2.4.6", info.sha256, info.licence, info.split, "60,000"]
    shown += [" ".join(suite_path.read_text(encoding="utf-8").split()), "eigenbench ui"]
    assert [text for text in shown if text not in page.text] == []


def test_searches_show_scores_and_the_selected_candidate(page, report):
    assert "gem__gamma = 0.1, gem__top = 2 (seed 0, 1, 2) 3.30, 3.30, 3.30 3.30 to 4.50" in page.text
    rows = list(csv.DictReader((report.parent / "searches.csv").open()))
    of_run = [row for row in rows if (row["classifier"], row["seed"]) == ("LinearSVC", "0")]
    assert [row["status"] for row in of_run] == ["ok", "failed", "ok", "ok"]
    assert [row["selected"] for row in of_run] == ["True", "False", "False", "False"]


def test_parameters_that_all_seeds_have_stand_once_and_others_with_their_seeds(make_record):
    chosen = [{"C": C, "steps": "A → B"} for C in (1.0, 0.1, 1.0)]
    chosen[2]["n"] = 3
    runs = [make_record("digits", "gem", "LinearSVC", seed, params=one) for seed, one in enumerate(chosen)]
    assert parameters_of(runs) == ("steps = A → B", "C = 1.0 (seed 0, 2); 0.1 (seed 1). n = 3 (seed 2)")


def test_names_and_messages_are_escaped(build, make_record, broken, suite):
    evil = "<script>alert('x')</script>\"&$\\x$"
    failure = Failure(stage="train", type=evil, message=evil, log=evil)
    chosen = [make_record("digits", "gem", "LinearSVC", 0)]
    chosen += [make_record("digits", "pca", "LinearSVC", 0, method=evil, params={evil: evil})]
    chosen += [make_record("digits", "pca", "LinearSVC", 1, classifier=evil, **broken("failed", failure))]
    text = build(chosen=chosen, shown=suite.model_copy(update={"title": evil}), unreadable=[evil])
    page = Page(text)
    assert [attributes for tag, attributes in page.tags if tag == "script"] == [{}]
    assert page.text.count("<script>alert('x')</script>") > 8
    assert all(not name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_the_same_runs_give_the_same_bytes(report, build, tmp_path, records):
    build(chosen=random.Random(0).sample(records, len(records)))
    assert content(tmp_path / "reports") == content(report.parent)


def test_every_figure_is_a_file_of_its_own(report, text):
    files = sorted(report.parent.glob("figures/*.svg"))
    assert text.count("<svg") == len(files) == 14
    for path in files:
        svg = path.read_text(encoding="utf-8")
        label = re.search(r'role="img" aria-label="[^"]{20,}"', svg)
        assert svg.replace(label.group(), 'aria-hidden="true"', 1) in text
        assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_mean_over_some_seeds_says_so_everywhere_and_is_never_the_best(build, make_record, broken):
    failure = Failure(stage="train", type="TimeLimitError", message="ran over its time limit of 5 s")
    pca = {"metrics": {"test_error": 0.02}}
    chosen = [make_record("digits", "pca", "LinearSVC", seed, **pca) for seed in range(2)]
    chosen += [make_record("digits", "pca", "LinearSVC", 2, **broken("failed", failure))]
    worse = {"metrics": {"test_error": 0.5}}
    chosen += [make_record("digits", "gem", "LinearSVC", seed, **worse) for seed in range(3)]
    text = build(chosen=chosen)
    page = Page(text).text
    assert re.findall(r'class="n best">([^<\s]+) <small>', text) == ["50.00"]
    assert "reproduced (2 of 3 seeds)" in page
    assert page.count("Not over all seeds: PCA + linear SVM (2 of 3 seeds).") == 2
    assert "PCA + linear SVM 2 of 3 seeds" in page, "in the leaderboard"
    assert "TimeLimitError: ran over its time limit" in page


def test_no_record_at_all_still_gives_a_page(build):
    page = Page(build(chosen=[]))
    assert "No run has finished." in page.text
    assert "no record yet" in page.text


def test_numbers_that_are_not_finite_do_not_sink_the_page(build, make_record):
    metrics = {"test_error": float("nan"), "test_log_loss": float("inf")}
    chosen = [make_record("digits", "gem", "SecondOrderLogistic", seed, metrics=metrics) for seed in range(3)]
    chosen += [make_record("digits", "pca", "LinearSVC", 0, dimension=0, fit_seconds=0.0, train_seconds=0.0)]
    assert Page(build(chosen=chosen)).text.count("off") >= 1


def test_a_full_disk_leaves_the_old_files_whole(build, tmp_path, few, largest_file):
    build(chosen=few)
    before = content(tmp_path / "reports")
    largest_file(20_000)
    with pytest.raises(ReportError, match=f"{tmp_path / 'reports'}: cannot write the report"):
        build(chosen=few[:-1])
    largest_file(None)
    assert content(tmp_path / "reports") == before


def test_deviations_from_the_paper_are_a_table(build, suite, few):
    deviation = {"paper": "Nesterov steps", "here": "Adam <b>", "why": "it is quicker"}
    page = Page(build(chosen=few, shown=suite.model_copy(update={"deviations": (Deviation(**deviation),)})))
    assert "Paper Here Why Nesterov steps Adam <b> it is quicker" in page.text


def test_a_run_that_predicts_one_class_is_marked(build, make_record):
    doubt = "every test row was predicted to be of class '3'"
    chosen = [
        make_record("digits", "gem", "LinearSVC", seed, warnings=[doubt] * (seed == 1)) for seed in range(3)
    ]
    page = Page(build(chosen=chosen)).text
    assert "GEM + linear SVM doubtful" in page, "in the leaderboard"
    assert f"GEM + linear SVM 1 doubtful {doubt}" in page, "in the table of problems"


def test_a_suite_without_published_numbers_has_no_word_of_them(build, make_record, suite):
    given = suite.model_dump(exclude_unset=True)
    for spec in given["experiments"].values():
        spec.pop("published", None)
    chosen = [make_record("digits", "gem", "LinearSVC", seed) for seed in range(3)]
    page = Page(build(chosen=chosen, shown=Suite.model_validate(given)))
    assert not re.search("[Pp]ublished|Reproduced", page.text.partition("Configuration: ")[0])


def test_a_crate_takes_every_file_of_a_report(report):
    from eigenbench.bench.records.runs import REPORT_FILES

    assert {path.name for path in report.parent.iterdir()} == set(REPORT_FILES)
