"""Receipts: sealed files of one schema, counted by machine."""

import pytest
from record_files import plan_of, write_all

from eigenbench.bench.records.sealed_json import write_sealed
from eigenbench.reproduction.receipt import (
    RECEIPTS,
    MachineCounts,
    Receipt,
    read_receipt,
    read_receipts,
    write_receipt,
)
from eigenbench.reproduction.reference import ReproductionError, default_reference_folder, load_reference
from eigenbench.reproduction.verification import compare_with_reference

pytestmark = pytest.mark.workflow


@pytest.fixture
def receipt(suite, records, reference_dir, tmp_path) -> Receipt:
    results = write_all(tmp_path / "results", records)
    return compare_with_reference(plan_of(suite), results, load_reference("small", reference_dir))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 1}, "schema_version: "),
        ({"schema_name": "other"}, "schema_name: "),
        ({"reference": "x"}, "reference: "),
        ({"extra": 1}, "extra: "),
    ],
)
def test_another_schema_is_refused_even_with_a_seal(receipt, tmp_path, change, message):
    path = tmp_path / "other.json"
    write_sealed(path, receipt.model_dump(mode="json") | change)
    with pytest.raises(ReproductionError, match=message):
        read_receipt(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"{", b"[" * 100_000])
def test_what_is_no_receipt_is_one_clear_error(tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(ReproductionError, match=r"broken\.json"):
        read_receipt(path)


def on(receipt: Receipt, cpu: str) -> Receipt:
    environment = receipt.environments[0].model_copy(update={"cpu": cpu})
    return receipt.model_copy(update={"environments": [environment]})


def test_machines_count_once_and_only_where_every_run_was_reproduced(receipt, reference_dir):
    folder = reference_dir / RECEIPTS

    def count() -> int:
        return MachineCounts(reference_dir).count("small", "digits", "pca", "CalibratedLeastSquares")

    assert count() == 0
    write_receipt(receipt, folder)
    write_receipt(receipt, folder)
    other = write_receipt(on(receipt, "other"), folder)
    assert count() == 2
    failed = receipt.runs[0].model_copy(update={"verdict": "different"})
    write_receipt(on(receipt.model_copy(update={"runs": [failed, *receipt.runs[1:]]}), "other"), folder)
    assert count() == 1
    other.unlink()
    write_receipt(receipt.model_copy(update={"reference": "0" * 64}), folder)
    assert count() == 0


def test_a_file_has_one_entry_for_the_seeds_of_a_method(suite, records, receipt, tmp_path):
    assert [(run.method, run.seeds) for run in receipt.runs] == [("pca", [0, 1, 2]), ("gem", [0])]
    assert receipt.counts()["identical"] == 4
    assert receipt.environments[0].gemm_gflops is None


def test_receipts_beside_a_reference_are_read_and_bad_ones_said(receipt, reference_dir):
    path = write_receipt(receipt, reference_dir / RECEIPTS)
    assert path.name == f"small-{receipt.machine}.json"
    (reference_dir / RECEIPTS / "bad.json").write_text("{}")
    receipts, problems = read_receipts(reference_dir)
    assert receipts == [receipt]
    assert len(problems) == 1
    assert "bad.json" in problems[0]


def test_the_documented_schema_is_the_schema():
    text = (default_reference_folder() / RECEIPTS / "README.md").read_text()
    schema = Receipt.model_json_schema()
    models = [schema, schema["$defs"]["ComparedRuns"], schema["$defs"]["ComparedValue"]]
    for name in {name for model in models for name in model["properties"]}:
        assert f"`{name}`" in text, name


def test_shipped_receipts_can_be_read():
    assert read_receipts()[1] == []


def test_every_shipped_reference_can_be_read():
    folder = default_reference_folder()
    suites = {path.parent.name for path in folder.glob("*/results.csv")} | {"quick"}
    for suite in suites:
        reference = load_reference(suite)
        assert all(run.metrics for run in reference.runs if run.status == "ok")
        assert len(reference.digest) == 64


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("suite,dataset\nsmall,digits\n", r"results\.csv: no column method"),
        (
            "suite,dataset,method,classifier,seed,metric,value,status,fit_seconds,train_seconds,run_key\nsmall,digits\n",
            r"results\.csv, line 2: a value is missing",
        ),
    ],
)
def test_a_reference_file_that_is_not_one_is_named(tmp_path, table, message):
    (tmp_path / "results.csv").write_text(table)
    with pytest.raises(ReproductionError, match=message):
        load_reference("small", tmp_path)


def test_a_reference_may_have_a_mark_of_its_encoding_and_bytes_are_one_clear_error(tmp_path):
    row = "small,digits,gem,SVC,0,test_error,0.5,ok,,1.5,abc"
    names = "suite,dataset,method,classifier,seed,metric,value,status,fit_seconds,train_seconds,run_key"
    (tmp_path / "results.csv").write_text(f"{names}\n{row}\n", encoding="utf-8-sig")
    (run,) = load_reference("small", tmp_path).runs
    assert (run.metrics, run.seconds) == ({"test_error": 0.5}, {"train_seconds": 1.5})
    (tmp_path / "results.csv").write_bytes(bytes(range(256)))
    with pytest.raises(ReproductionError, match="no column suite"):
        load_reference("small", tmp_path)
