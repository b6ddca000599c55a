"""The column with the number of machine types on which a number was reproduced."""

from __future__ import annotations

import pytest
from html_page import Page
from record_files import plan_of

from eigenbench.reporting.csv_files import results_csv
from eigenbench.reporting.site import render
from eigenbench.reproduction.receipt import RECEIPTS, write_receipt
from eigenbench.reproduction.reference import load_reference
from eigenbench.reproduction.verification import compare_with_reference

pytestmark = pytest.mark.workflow


@pytest.fixture
def page(tmp_path, suite, suite_path, few):
    def page_text(reference_dir) -> str:
        path = render(
            [plan_of(suite)],
            few,
            reports_dir=tmp_path / "reports",
            suite_paths={"quick": suite_path},
            reference_dir=reference_dir,
        )
        return Page(path.read_text(encoding="utf-8")).text

    return page_text


def test_receipts_beside_the_reference_are_counted_until_it_is_replaced(
    tmp_path, page, suite, few, results_dir
):
    folder = tmp_path / "reference"
    folder.mkdir()
    results = folder / "results.csv"
    results.write_text(results_csv(few))
    assert "1 machine" not in page(folder)
    receipt = compare_with_reference(plan_of(suite), results_dir, load_reference("quick", folder))
    write_receipt(receipt, folder / RECEIPTS)
    assert page(folder).count("1 machine") == 3
    results.write_text(results_csv(few[:-1]))
    assert "1 machine" not in page(folder)
