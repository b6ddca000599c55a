"""Methods over the datasets of a suite: what is compared, what is refused, and what is written."""

import csv
import io
import re

import pandas as pd
import pytest
from html_page import Page
from record_files import plan_of

from eigenbench.bench.records.record import Failure
from eigenbench.bench.suites.suite import Suite
from eigenbench.comparison.ranks import least_holm_p
from eigenbench.comparison.ratios import equivalence
from eigenbench.reporting.inputs import ReportInputs
from eigenbench.reporting.replicates import group_runs
from eigenbench.reporting.site import render
from eigenbench.reporting.suite_ranks import pairs_csv, ranks_csv, suite_ranks
from eigenbench.reproduction.reference import default_reference_folder

pytestmark = pytest.mark.workflow

DATASETS = ("digits", "mnist", "covtype", "usps", "a9a", "letter")
#: Errors of each method; the last is never the best and the slowest.
METHODS = {"gem": 0.05, "pca": 0.10, "random": 0.20}


def suite_of(datasets=DATASETS):
    methods = {name: {} for name in METHODS}
    experiment = {"headline": "test_error", "methods": methods, "classifiers": ["LinearSVC"]}
    experiments = {name: {"dataset": name, **experiment} for name in datasets}
    return Suite.model_validate({"name": "many", "title": "Many", "experiments": experiments})


@pytest.fixture
def runs(make_record):
    template = make_record("digits", "gem", "LinearSVC", 0)

    def make(suite, **changes):
        found = []
        for place, (name, spec) in enumerate(suite.experiments.items()):
            for method, error in METHODS.items():
                fields = {"suite": "many", "experiment": name, "dataset": spec.dataset, "method": method}
                fields |= {"fit_seconds": 10 * error, "train_seconds": 0.0}
                fields |= {"metrics": {"test_error": error + place / 1000, "test_errors": 1.0}}
                found.append(template.model_copy(update=fields | changes.get(f"{name}_{method}", {})))
        return found

    return make


@pytest.fixture
def report(tmp_path):
    def report(suite, records):
        path = tmp_path / "many.yaml"
        path.write_text("title: Many\n", encoding="utf-8")
        return render(ReportInputs([plan_of(suite)], {"many": path}, records), tmp_path / "reports")

    return report


def compared(suite, records):
    (found,) = suite_ranks(suite, group_runs([plan_of(suite)], records))
    return found


def test_ranks_wins_and_the_front(runs):
    suite = suite_of()
    found = compared(suite, runs(suite))
    assert found.refusal == ""
    expected = {f"{name} + LinearSVC": rank for rank, name in enumerate(("gem", "pca", "random"), start=1)}
    assert found.ranks["mean_rank"].to_dict() == expected
    assert found.ranks["on_front"].tolist() == [True, False, False]
    pair = found.pairs.loc[("gem + LinearSVC", "pca + LinearSVC")]
    assert (pair["wins"], pair["ties"], pair["losses"]) == (6, 0, 0)
    assert (pair["conclusion"], found.shows_holm) == ("first better", False)
    assert pair["low"] < pair["ratio"] < pair["high"] < 1
    assert pair["p_value"] == pytest.approx(2 / 2**6)


def test_a_failed_run_ranks_last_and_is_counted(runs):
    suite = suite_of()
    failure = Failure(stage="train", type="MemoryError", message="needs 9 GB")
    broken = {"status": "failed", "failure": failure, "metrics": {}}
    found = compared(suite, runs(suite, usps_gem=broken))
    assert found.ranks.loc["gem + LinearSVC", "mean_rank"] == pytest.approx((5 + 3) / 6)
    assert found.ranks.loc["gem + LinearSVC", "n_failed"] == 1
    assert not found.ranks.loc["gem + LinearSVC", "on_front"], "its mean time lacks a dataset"


def test_an_incomplete_table_is_refused(runs):
    suite = suite_of()
    found = compared(suite, runs(suite)[:-1])
    assert "incomplete" in found.refusal
    assert ranks_csv([found]).count("\n") == pairs_csv([found]).count("\n") == 1


def test_few_datasets_are_refused_and_one_makes_no_comparison(runs):
    suite = suite_of(DATASETS[:4])
    assert compared(suite, runs(suite)).refusal.startswith("4 datasets are too few")
    alone = suite_of(DATASETS[:1])
    assert suite_ranks(alone, group_runs([plan_of(alone)], runs(alone))) == []


def test_a_dataset_without_any_result_is_left_out_and_named(runs):
    suite = suite_of()
    gone = {"status": "not_run", "metrics": {}}
    found = compared(suite, runs(suite, **{f"a9a_{method}": gone for method in METHODS}))
    assert found.without_result == ("a9a",)
    assert found.n_datasets == 5
    assert found.refusal == ""


def test_the_tables_and_the_page_have_everything(runs, report):
    suite = suite_of()
    page = report(suite, runs(suite))
    ranks, pairs = (
        list(csv.DictReader(io.StringIO(page.with_name(name).read_text("utf-8"))))
        for name in ("ranks.csv", "pairs.csv")
    )
    assert [line["competitor"] for line in ranks] == [f"{name} + LinearSVC" for name in METHODS]
    assert len(pairs) == 3
    for line in pairs:
        assert float(line["low"]) < float(line["ratio"]) < float(line["high"])
        assert line["p_holm"] == "", "no pair of six datasets can be significant"
    names = {path.name for path in page.parent.glob("figures/many-ranks-*")}
    assert names == {f"many-ranks-0-{what}.svg" for what in ("heat-map", "ranking", "time")}
    text = page.read_text(encoding="utf-8")
    assert "All datasets" in text
    assert "6 / 0 / 0" in text
    words = Page(text).text
    assert "PCA + linear SVM 2.00 [2.0, 2.0] 2 [2, 2]" in words, "mean rank and place with intervals"
    assert re.search(r"find a ratio of errors of 1\.\d\d with a probability of 80 %", words)


def test_experiments_of_other_methods_each_make_no_section(runs, report):
    given = suite_of(("digits", "mnist")).model_dump(exclude_unset=True)
    given["experiments"]["mnist"]["methods"] = {"other": {}}
    suite = Suite.model_validate(given)
    records = [one for one in runs(suite_of(("digits", "mnist"))) if one.experiment == "digits"]
    text = report(suite, records).read_text(encoding="utf-8")
    assert "All datasets" not in text, "nothing to say"
    assert "without any result" not in text


def test_ranks_and_ratios_follow_the_filter(runs, report, browser):
    suite = suite_of()
    page = browser.new_page()
    page.goto(report(suite, runs(suite)).as_uri())
    rows = page.locator("table.heat tbody tr:visible")

    def shown():
        return [row.locator("th, td").all_inner_texts()[:4] for row in rows.all()]

    before = shown()
    assert [(row[0], row[1], row[3]) for row in before] == [
        ("GEM + linear SVM", "1.00", "1.00"),
        ("PCA + linear SVM", "2.00", "2.00"),
        ("Random directions + linear SVM", "3.00", "4.00"),
    ]
    page.get_by_label("Show only methods").fill("random, pca")
    assert shown() == [
        ["PCA + linear SVM", "1.00", "1.0 to 1.0", "1.00"],
        ["Random directions + linear SVM", "2.00", "2.0 to 2.0", "2.00"],
    ]
    page.get_by_label("Show only methods").fill("")
    assert shown() == before
    page.close()


@pytest.mark.parametrize(
    "path", sorted(default_reference_folder().rglob("pairs.csv")), ids=lambda path: path.parent.name
)
def test_conclusions_follow_from_intervals_in_every_committed_comparison(path):
    for _, pairs in pd.read_csv(path).groupby("metric"):
        ends = pairs[["low", "high"]]
        assert pairs["conclusion"].tolist() == equivalence(ends).tolist()
        known = pairs[ends.notna().all(axis=1)]
        equal_methods = known["low"].eq(1) & known["high"].eq(1)
        assert (known["detectable"] >= 1).all()
        assert known["detectable"].eq(1).tolist() == equal_methods.tolist()
        n_methods = len({*pairs["first"], *pairs["second"]})
        can_be_significant = least_holm_p(n_methods, pairs["n_datasets"].iloc[0]) <= 0.05
        assert pairs["p_holm"].notna().eq(can_be_significant).all()


def test_a_best_error_of_zero_counts_as_half_of_the_smallest_positive(runs):
    suite = suite_of()
    found = compared(suite, runs(suite, digits_gem={"metrics": {"test_error": 0.0}}))
    assert found.ratios["digits"].tolist() == pytest.approx([1.0, 2.0, 4.0])
