"""results.csv and comparison.csv: columns, rows, order."""

import csv
import io

import pytest
from record_files import ENVIRONMENT, plan_of

from eigenbench.bench.records.record import Failure
from eigenbench.reporting.csv_files import csv_text, results_csv
from eigenbench.reporting.published import compare_all_published, comparison_csv
from eigenbench.reporting.replicates import group_runs
from eigenbench.reporting.run_tables import environments_table

RESULTS = (
    "suite,dataset,method,classifier,seed,metric,value,status,"
    "fit_seconds,train_seconds,predict_seconds,peak_rss_mb,run_key,code_hash"
)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def compared(suite, records) -> list[dict[str, str]]:
    return rows_of(comparison_csv(compare_all_published([suite], group_runs([plan_of(suite)], records))))


def test_results_have_a_row_per_run_and_metric(records):
    text = results_csv(records)
    rows = rows_of(text)
    assert text.splitlines()[0] == RESULTS
    for record in records:
        own = [row for row in rows if row["run_key"] == record.run_key]
        assert {row["status"] for row in own} == {record.status}
        if record.status == "ok":
            assert {row["metric"]: float(row["value"]) for row in own} == record.metrics
            assert float(own[0]["fit_seconds"]) == record.fit_seconds
            assert own[0]["code_hash"] == record.environment.code_hash
        else:
            assert [(row["metric"], row["value"], row["fit_seconds"]) for row in own] == [("", "", "")]


def test_comparison_has_a_row_per_published_number(suite, records):
    rows = compared(suite, records)
    numbers = [number for experiment in suite.experiments.values() for number in experiment.published]
    assert [float(row["published"]) for row in rows] == [number.value for number in numbers]
    verdicts = ["reproduced †", "reproduced", "off", "not run (a neural network, only quoted)"]
    assert [row["verdict"] for row in rows[:4]] == verdicts
    gem, dropout = rows[1], rows[3]
    assert (gem["method"], gem["measured"], gem["n_seeds"]) == ("gem", "111.0", "1")
    assert (dropout["method"], dropout["measured"], dropout["n_seeds"]) == ("Dropout", "", "0")


@pytest.mark.parametrize(
    ("status", "message", "why"),
    [
        ("failed", "bad\nvalue", "failed in train: ValueError: bad value"),
        ("not_run", "no source of mnist answers", "no source of mnist answers"),
    ],
)
def test_comparison_says_why_a_run_has_no_number(suite, make_record, broken, status, message, why):
    failure = Failure(stage="train", type="ValueError", message=message)
    record = make_record("mnist", "gem", "CalibratedLeastSquares", 0, **broken(status, failure))
    row = compared(suite, [record])[1]
    assert row["verdict"] == f"not run ({why})"
    assert row["measured"] == row["ci_low"] == row["ci_high"] == ""


def test_comparison_names_a_metric_that_the_records_lack(suite, make_record):
    record = make_record("mnist", "gem", "CalibratedLeastSquares", 0, metrics={"test_error": 0.1})
    row = compared(suite, [record])[1]
    assert row["verdict"] == "not run (its records have no metric 'test_errors')"


@pytest.mark.parametrize("text", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0"])
def test_no_cell_is_a_formula(suite, make_record, text):
    shown = "'" + text.replace("\r", "\n")
    record = make_record("mnist", "gem", "CalibratedLeastSquares", 0, method=text)
    assert rows_of(results_csv([record]))[0]["method"] == shown
    number = suite.experiments["mnist"].published[1].model_copy(update={"source": text})
    experiment = suite.experiments["mnist"].model_copy(update={"published": [number]})
    changed = suite.model_copy(update={"experiments": {"mnist": experiment}})
    assert compared(changed, [])[0]["source"] == shown


@pytest.mark.parametrize("value", ["-1", "+1", "-1.5e-3", "a=b", "–", "1-NN", -1.0, 3])
def test_numbers_and_other_text_stay(value):
    assert csv_text(["a"], [[value]]) == f"a\n{value}\n"


def test_environments_have_a_rate_for_each_number_of_threads(make_record):
    found = [(1, 80.0), (1, None), (2, 150.0), (1, 82.0), (1, 90.0)]
    run = make_record("digits", "identity", "CalibratedLeastSquares", 0)
    rates = [{"threads": threads, "gemm_gflops": rate} for threads, rate in found]
    environments = [ENVIRONMENT.model_copy(update=one) for one in rates]
    records = [run.model_copy(update={"environment": one}) for one in environments]
    cells = [row.cells for row in environments_table(records).rows]
    assert [[line[name].text for name in ("Runs", "Threads", "GFLOP/s")] for line in cells] == [
        ["4", "1", "82"],
        ["1", "2", "150"],
    ]
