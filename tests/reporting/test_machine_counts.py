"""The number of machine types on which a number was reproduced, as the page and the verdicts have it."""

from __future__ import annotations

from record_files import plan_of

from eigenbench.reporting.csv_files import results_csv
from eigenbench.reporting.published import compare_published, machines_text
from eigenbench.reporting.replicates import group_runs
from eigenbench.reproduction.receipt import RECEIPTS, MachineCounts, write_receipt
from eigenbench.reproduction.reference import load_reference
from eigenbench.reproduction.verification import compare_with_reference


def test_receipts_beside_the_reference_are_counted_until_it_is_replaced(tmp_path, suite, few, results_dir):
    folder = tmp_path / "reference"
    folder.mkdir()
    results = folder / "results.csv"
    rows = compare_published(suite, "mnist", group_runs([plan_of(suite)], few)["quick", "mnist"])

    def n_reproduced() -> int:
        return sum(machines_text(MachineCounts(folder), row) == "1 machine" for row in rows)

    results.write_text(results_csv(few))
    assert n_reproduced() == 0
    receipt = compare_with_reference(plan_of(suite), results_dir, load_reference("quick", folder))
    write_receipt(receipt, folder / RECEIPTS)
    assert n_reproduced() == 3
    results.write_text(results_csv(few[:-1]))
    assert n_reproduced() == 0
