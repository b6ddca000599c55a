"""``eigenbench verify``: exit codes and what it prints."""

import subprocess
import sys

import pytest
from record_files import write_all

from eigenbench.reporting.csv_files import results_csv
from eigenbench.reproduction.receipt import read_receipt

pytestmark = pytest.mark.workflow


@pytest.fixture
def verify(tmp_path, reference_dir):
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "eigenbench.cli", "verify", "small", "--suites-dir", "suites"]
        options = ["--reference-dir", str(reference_dir), *arguments]
        return subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False)

    return call


def test_runs_that_came_out_again_end_with_0_and_a_receipt(verify, records, tmp_path):
    write_all(tmp_path / "results", records)
    done = verify()
    assert done.returncode == 0, done.stderr
    assert "small: 4 identical" in done.stdout
    (path,) = (tmp_path / "reports" / "receipts").glob("*.json")
    assert read_receipt(path).holds


def test_runs_that_measure_time_alone_end_with_0(verify, records, reference_dir, tmp_path):
    timed = [record.model_copy(update={"metrics": {"fit_seconds": 1.0}}) for record in records]
    (reference_dir / "results.csv").write_text(results_csv(timed))
    write_all(tmp_path / "results", timed)
    done = verify()
    assert (done.returncode, "small: 4 not compared" in done.stdout) == (0, True)


def test_a_changed_value_and_a_missing_run_end_with_3_and_are_named(verify, records, tmp_path):
    changed = records[0].model_copy(update={"metrics": records[0].metrics | {"test_errors": 99.0}})
    write_all(tmp_path / "results", [changed, *records[2:]])
    done = verify()
    assert done.returncode == 3
    assert "digits/pca/CalibratedLeastSquares/seed-0: test_errors 99, 20 in the reference" in done.stdout
    assert "digits/pca/CalibratedLeastSquares/seed-1: no record" in done.stdout
    assert "1 different" in done.stdout


def test_nothing_to_compare_is_an_error_that_says_what_to_do(verify, tmp_path):
    done = verify()
    assert (done.returncode, "no record of small in results" in done.stderr) == (1, True)
    assert not (tmp_path / "reports").exists()
    done = verify("--reference-dir", str(tmp_path / "suites"))
    assert (done.returncode, "no reference results of suite 'small'" in done.stderr) == (1, True)
