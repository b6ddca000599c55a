"""The verdicts on all published numbers: what is committed follows from suites and reference results."""

from pathlib import Path

import pytest
from record_files import plan_of
from reference_verdicts import reference_comparisons, shipped_plans, suites_table, verdicts_page

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.suites.suite import Suite
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.comparison.mean_intervals import wilson
from eigenbench.reporting.csv_files import results_csv
from eigenbench.reporting.estimates import OVER_ROWS
from eigenbench.reporting.published import PublishedComparison, comparison_csv
from eigenbench.reproduction.receipt import MachineCounts

pytestmark = pytest.mark.workflow

REPOSITORY = Path(__file__).resolve().parents[2]
REFERENCE = REPOSITORY / "reports" / "reference"


@pytest.fixture(scope="module")
def plans() -> list[SuitePlan]:
    return list(shipped_plans())


@pytest.fixture(scope="module")
def rows(plans) -> list[PublishedComparison]:
    return reference_comparisons(plans)


def test_the_committed_verdicts_and_suites_are_those_of_the_references(rows, plans):
    remedy = "run python docs/reference_verdicts.py"
    committed = (REFERENCE / "comparison.csv").read_text(encoding="utf-8")
    assert committed == comparison_csv(rows), remedy
    page = (REPOSITORY / "docs" / "verdicts.md").read_text(encoding="utf-8")
    assert page == verdicts_page(rows, MachineCounts()), remedy
    assert suites_table(plans) in (REFERENCE / "README.md").read_text(encoding="utf-8"), remedy


def test_every_number_that_is_off_is_explained(rows):
    off = [row for row in rows if row.outcome == "off"]
    assert off
    assert [row.number for row in off if not row.why_off] == []


def test_one_run_of_a_transfer_has_an_interval_from_its_images(rows):
    first = [row for row in rows if row.experiment == "faces_first" and row.number.metric == "nn_error"]
    (found,) = [row.estimate for row in first]
    expected = wilson(round(found.mean * 90), 90)
    assert (found.low, found.high, found.interval) == (expected.low, expected.high, OVER_ROWS)


def test_every_published_number_has_a_verdict(rows, plans):
    assert len(rows) == sum(len(spec.published) for plan in plans for spec in plan.suite.experiments.values())
    prefixes = ("not run (", "judged elsewhere: ", "within bound", "beyond bound")
    assert all(row.outcome or row.verdict.startswith(prefixes) for row in rows)


SUITE = """
title: Small
experiments:
  digits:
    dataset: digits
    methods: {pca: {steps: [{PCA: {n_components: 9}}]}}
    classifiers: [LinearSVC]
    published:
      - {source: "A paper, Table 1", method: pca, metric: test_error, value: 0.05}
  speech:
    dataset: timit
    methods: {pca: {steps: [PCA]}}
    classifiers: [LinearSVC]
    published:
      - {source: "A paper, Table 2", method: pca, metric: test_error, value: 0.4}
"""


@pytest.fixture
def small(tmp_path) -> Suite:
    path = tmp_path / "small.yaml"
    path.write_text(SUITE)
    return load_suite(path)


def test_a_run_by_other_settings_does_not_count(small, make_record, tmp_path):
    changes = {"suite": "small", "run_key": "0123456789abcdef", "metrics": {"test_error": 0.04}}
    record = make_record("digits", "pca", "LinearSVC", 0, **changes)
    (tmp_path / "results.csv").write_text(results_csv([record]))
    found = [row.verdict for row in reference_comparisons([plan_of(small)], tmp_path)]
    other_settings = "not run (the reference was made with other settings: 4.00 %)"
    assert found == [other_settings, "not run (the files of timit have to be supplied)"]


def test_without_a_run_a_number_says_so(small, tmp_path):
    first, _ = reference_comparisons([plan_of(small)], tmp_path)
    assert first.verdict == "not run (no reference run yet)"
