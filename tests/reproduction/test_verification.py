"""Runs that are identical, within noise, different or missing, and the reasons."""

import math

import numpy as np
import pytest
from record_files import plan_of, write, write_all
from scipy.stats import t

from eigenbench.bench.records.record import Confusion, Failure
from eigenbench.reporting.csv_files import results_csv
from eigenbench.reproduction.receipt import Receipt
from eigenbench.reproduction.reference import load_reference
from eigenbench.reproduction.verification import compare_with_reference


def changed(record, **metrics):
    return record.model_copy(update={"metrics": {**record.metrics, **metrics}})


@pytest.fixture
def compare(suite, reference_dir, tmp_path):
    def comparing(records, receipts=()) -> Receipt:
        results, reference = write_all(tmp_path / "results", records), load_reference("small", reference_dir)
        return compare_with_reference(plan_of(suite), results, reference, receipts)

    return comparing


def verdicts(receipt):
    """The verdict on each run, in the order of the suite."""
    found = {(run.method != "pca", seed): run.verdict for run in receipt.runs for seed in run.seeds}
    return [found[name] for name in sorted(found)]


def test_the_same_values_are_identical_whatever_the_time(compare, records):
    receipt = compare([changed(record, fit_seconds=3.0) for record in records])
    assert verdicts(receipt) == ["identical"] * 4
    assert {(run.n_identical, run.n_rounded) for run in receipt.runs} == {(2, 0)}
    assert not any(run.causes for run in receipt.runs)
    assert receipt.holds


def test_a_last_bit_is_rounding_and_not_identical(compare, records):
    moved = records[0].metrics["test_error"] * (1 + 1e-15)
    run = compare([changed(records[0], test_error=moved), *records[1:]]).runs[0]
    assert (run.verdict, run.n_rounded, run.values) == ("within noise", 1, {})


@pytest.mark.parametrize(("errors", "verdict"), [(24, "within noise"), (60, "different")])
def test_seeds_and_rows_bound_a_difference(compare, records, errors, verdict):
    run = compare([changed(records[0], test_errors=errors, test_error=errors / 450), *records[1:]]).runs[0]
    assert run.verdict == verdict
    value = run.values["test_errors"]
    of_seeds = t.ppf(0.975, 2) * math.sqrt(2) * np.std([20, 22, 24], ddof=1)
    rate = (20 + errors) / 2 / 450
    of_rows = 1.959964 * math.sqrt(2 * 450 * rate * (1 - rate))
    assert value.noise == pytest.approx(max(of_seeds, of_rows), rel=1e-5)
    assert value.noise_of == ("seeds" if of_seeds > of_rows else "rows")


def test_one_seed_has_the_noise_of_rows_alone(compare, records):
    *others, gem = records
    near, far = (compare([*others, changed(gem, test_errors=float(n), test_error=n / 450)]) for n in (15, 25))
    assert (near.runs[-1].verdict, far.runs[-1].verdict) == ("within noise", "different")
    assert near.runs[-1].values["test_errors"].noise_of == "rows"
    assert "test_errors" in far.runs[-1].why
    assert not far.holds


@pytest.mark.parametrize(
    ("metric", "stored", "deviation"),
    [
        ("test_log_loss", "probability", lambda values: np.std(np.log(values), ddof=1)),
        ("test_brier", "brier", lambda values: np.std(values, ddof=1)),
        ("test_calibration_error", "brier", lambda values: math.sqrt(values.mean())),
    ],
)
def test_losses_have_the_noise_of_rows(compare, records, reference_dir, tmp_path, metric, stored, deviation):
    *others, gem = records
    (reference_dir / "results.csv").write_text(results_csv([*others, changed(gem, **{metric: 0.1})]))
    values = np.random.default_rng(0).uniform(0.5, 1, 450).astype(np.float32)
    half_width = 1.959964 * math.sqrt(2 / 450) * deviation(values.astype(float))
    for moved, verdict in ((0.98 * half_width, "within noise"), (1.02 * half_width, "different")):
        here = changed(gem, **{metric: 0.1 + moved})
        np.savez(write(tmp_path / "results", here).with_name("predictions.npz"), **{stored: values})
        assert compare([*others, here]).runs[-1].values[metric].verdict == verdict


def test_the_balanced_error_has_the_noise_of_the_confusion_matrix(compare, records, reference_dir):
    *others, gem = records
    (reference_dir / "results.csv").write_text(results_csv([*others, changed(gem, test_balanced_error=0.25)]))
    half_width = 1.959964 * math.sqrt(2) * math.sqrt(0.1 * 0.9 / 100 + 0.4 * 0.6 / 50) / 2
    confusion = Confusion(labels=["a", "b"], matrix=[[90, 10], [20, 30]])
    for share, verdict in ((0.99, "within noise"), (1.01, "different")):
        moved = changed(gem, test_balanced_error=0.25 + share * half_width)
        run = compare([*others, moved.model_copy(update={"confusion": confusion})]).runs[-1]
        assert run.values["test_balanced_error"].verdict == verdict


def test_noise_that_nothing_tells_decides_only_where_nothing_else_does(compare, records, reference_dir):
    *others, gem = records
    (reference_dir / "results.csv").write_text(results_csv([*others, changed(gem, bound=3.0)]))
    alone = compare([*others, changed(gem, bound=3.1)]).runs[-1]
    assert (alone.verdict, alone.why) == ("different", "noise not known: bound")
    rounded = changed(gem, bound=3.1, test_error=9 / 450 * (1 + 1e-15))
    assert compare([*others, rounded]).runs[-1].verdict == "different"
    beside = compare([*others, changed(gem, bound=3.1, test_errors=10.0, test_error=10 / 450)]).runs[-1]
    assert (beside.verdict, beside.why) == ("within noise", "noise not known: bound")


def test_missing_runs_are_named_with_the_reason(compare, records):
    old = records[1].model_copy(update={"run_key": "0" * 16})
    receipt = compare([records[0], old, records[3]])
    assert verdicts(receipt) == ["identical", "missing", "missing", "identical"]
    assert "other settings" in receipt.runs[1].why
    assert receipt.runs[2].names == ["digits/pca/CalibratedLeastSquares/seed-2"]
    assert receipt.runs[2].why == "no record"
    assert not receipt.holds


def test_runs_that_this_machine_could_not_make_are_no_difference(compare, records):
    def without(record, message, kind):
        failure = Failure(stage="import", type=kind, message=message)
        return record.model_copy(update={"status": "not_run", "metrics": {}, "failure": failure})

    remedy = "pip install 'eigenbench[peers]'"
    needed = "needs a package that is not installed (No module named 'metric_learn')"
    one, other = (
        without(record, f"{name} {needed}: {remedy}", "MissingExtraError")
        for name, record in zip(("NCA", "LFDA"), records, strict=False)
    )
    no_data = without(records[2], "digits: no source can be reached", "SourceUnavailable")
    receipt = compare([one, other, no_data, records[3]])
    assert verdicts(receipt) == ["not run"] * 3 + ["identical"]
    assert [(run.why, run.seeds) for run in receipt.runs[:2]] == [
        (f"a package is not installed: {remedy}", [0, 1]),
        ("digits: no source can be reached", [2]),
    ]
    assert receipt.holds


def test_a_record_that_was_changed_is_missing(compare, records, tmp_path):
    path = write(tmp_path / "results", records[-1])
    path.write_bytes(path.read_bytes().replace(b'"test_errors": 9.0', b'"test_errors": 8.0'))
    run = compare(records[:-1]).runs[-1]
    assert run.verdict == "missing"
    assert "was changed" in run.why


def test_a_run_that_failed_here_is_different(compare, records):
    failed = records[0].model_copy(update={"status": "failed", "metrics": {}})
    run = compare([failed, *records[1:]]).runs[0]
    assert (run.verdict, run.why) == ("different", "failed here, ok in the reference")


def test_a_metric_that_is_gone_is_different_and_a_new_one_is_not_looked_at(compare, records):
    gone = records[0].model_copy(update={"metrics": {"test_error": records[0].metrics["test_error"]}})
    assert compare([gone, *records[1:]]).runs[0].values["test_errors"].verdict == "different"
    assert compare([changed(records[0], new=1.0), *records[1:]]).runs[0].verdict == "identical"


def test_a_run_without_a_reference_is_not_compared(compare, records, reference_dir):
    (reference_dir / "results.csv").write_text(results_csv(records[:-1]))
    run = compare(records).runs[-1]
    assert (run.verdict, run.why) == ("not compared", "the reference has no such run")


def add_experiment(suite):
    """Plan a second experiment, too, whose runs have the same names and other settings."""
    suite.experiments["permuted"] = suite.experiments["digits"].model_copy(update={"permute_labels": True})
    return plan_of(suite).runs[4:]


def test_the_noise_of_seeds_is_of_one_experiment_alone(suite, compare, records, reference_dir):
    permuted = [
        changed(record, test_errors=400.0).model_copy(update=run.identity)
        for run, record in zip(add_experiment(suite), records, strict=True)
    ]
    (reference_dir / "results.csv").write_text(results_csv([*records, *permuted]))
    moved = changed(records[0], test_errors=60.0)
    assert compare([moved, *records[1:], *permuted]).runs[0].verdict == "different"


def test_a_run_of_other_settings_is_compared_only_where_it_can_be_no_other(suite, records, reference_dir):
    def found(runs):
        reference = load_reference("small", reference_dir)
        return [run.run_key if run else None for run in reference.find(runs)]

    first, second = plan_of(suite).runs, add_experiment(suite)
    keys = [run.key for run in first]
    assert found([*first, *second]) == [*keys, *[None] * 4]
    assert found(second) == keys
    old = [record.model_copy(update={"run_key": "0" * 16}) for record in records]
    (reference_dir / "results.csv").write_text(results_csv(old))
    assert found(first) == ["0" * 16] * 4
    assert found([*first, *second]) == [None] * 8


def test_causes_are_what_is_not_as_where_the_run_was_identical(compare, records):
    first = compare(records)
    here = records[0].environment.model_copy(update={"threads": 2, "blas": "openblas 0.3.31 Zen"})
    moved = changed(records[0], test_errors=22.0).model_copy(update={"environment": here})
    run = compare([moved, *records[1:]], receipts=[first]).runs[0]
    assert run.causes == [
        "BLAS: openblas 0.3.31 Zen, openblas 0.3.30 Haswell in the reference",
        "threads: 2, 1 in the reference",
    ]
    assert compare([moved, *records[1:]]).runs[0].causes == [
        "the environment of the reference is not recorded"
    ]
