"""The workflow from data to report, undisturbed."""

import json
import re

import pytest

pytestmark = pytest.mark.workflow


def test_every_run_has_one_record(finished):
    workflow, _ = finished
    results = workflow.metrics()
    ok = results[results.status == "ok"]
    errors = ok[ok.metric == "test_error"]
    assert len(errors) == 2 * 2 * 2 + 2
    assert errors.value.between(0, 0.15).all()
    assert results.run_key.nunique() == len(workflow.records()) == 13
    expected = workflow.folder / "results/tiny/grid/gem/seed-1/LogisticRegression/record.json"
    assert expected in workflow.records()


def test_a_method_that_fails_becomes_a_failed_record_and_the_rest_goes_on(finished):
    workflow, _ = finished
    failed = [record for record in map(_read, workflow.records()) if record["status"] == "failed"]
    assert [record["method"] for record in failed] == ["broken", "broken"]
    for failure in (record["failure"] for record in failed):
        assert failure["stage"] == "train"
        assert "n_components" in failure["message"]
        assert failure["type"] in (workflow.folder / failure["log"]).read_text()


def test_records_say_where_the_numbers_come_from(finished):
    workflow, _ = finished
    record = next(
        r for r in map(_read, workflow.records()) if r["status"] == "ok" and r["experiment"] == "grid"
    )
    assert record["environment"]["packages"]["scikit-learn"]
    assert record["environment"]["threads"] == 1
    assert record["peak_rss_mb"] > 50
    assert record["dataset_info"]["n_train"] + record["dataset_info"]["n_test"] == 1797
    assert (workflow.folder / "results" / record["model"]["path"]).stat().st_size == record["model"]["bytes"]


def test_the_end_says_where_to_look(finished):
    _, printed = finished
    assert "reports/index.html" in printed
    assert "eigenbench ui" in printed
    assert "gem" in printed


def test_an_experiment_can_be_imported_alone(copied):
    """As the workflow does with those of a long suite."""
    receipt = f"results/tiny/single/{copied.receipt}"
    assert copied.planned(receipt) == {"track tiny/single"}
    copied.finish(receipt)
    imported = json.loads((copied.folder / receipt).read_text())
    records = [_read(path) for path in copied.records() if "/single/" in str(path)]
    assert imported["run_ids"].keys() == {f"tiny/{record['run_key']}" for record in records}
    assert imported["failed"] == {}
    assert sum(imported[name] for name in ("imported", "replaced", "unchanged")) == len(records)


def test_a_second_run_has_nothing_to_do(finished):
    workflow, _ = finished
    before = _times(workflow.folder)
    assert "Nothing to be done" in workflow.finish()
    assert _times(workflow.folder) == before


def _times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if ".snakemake" not in path.parts}


def test_a_dry_run_writes_nothing(tmp_path, make_workflow):
    assert "train tiny/grid: identity, gem" in make_workflow(tmp_path).planned()
    assert [path.name for path in tmp_path.iterdir()] in ([], [".snakemake"])


def _read(path):
    return json.loads(path.read_text())


def test_the_view_of_a_run_is_a_line_for_each_job_and_tells_failures(finished):
    """In a pipe, as here; what Snakemake itself says is kept in its own log."""
    workflow, printed = finished
    (total,) = map(int, re.findall(r"^(\d+) jobs, ", printed, flags=re.MULTILINE))
    done = re.findall(r"^(\d+) of (\d+) done: (.+) \(\d+ s\)", printed, flags=re.MULTILINE)
    assert [int(number) for number, _, _ in done] == list(range(1, total))
    assert "train tiny/grid: identity, gem" in {text for _, _, text in done}
    assert "failed: ValueError: n_components=1000 must be between" in printed
    assert "Select jobs to execute" not in printed
    logs = (workflow.folder / ".snakemake" / "log").glob("*.log")
    assert any("Select jobs to execute" in log.read_text() for log in logs)
