"""The command of the report rule, on record files."""

import re
import shutil

import pytest
from record_files import write
from typer.testing import CliRunner

from eigenbench.bench.records.record import FileInfo, read_record, write_record
from eigenbench.bench.records.sealed_json import file_sums
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.cli import app
from eigenbench.reporting.__main__ import main
from eigenbench.reporting.inputs import read_inputs

pytestmark = pytest.mark.workflow


@pytest.fixture
def run(tmp_path, suite_path, results_dir):
    def run(*extra: str) -> int:
        folders = ["--results-dir", str(results_dir), "--reports-dir", str(tmp_path / "reports")]
        return main(["--suite", str(suite_path), *folders, *extra])

    return run


@pytest.mark.parametrize(
    "damage",
    [lambda text: text[:200], lambda text: re.sub(r'"test_errors": [0-9.]+', '"test_errors": 1.0', text)],
    ids=["truncated", "edited"],
)
def test_a_damaged_record_is_named_and_does_not_sink_the_rest(run, tmp_path, results_dir, capsys, damage):
    path = min((results_dir / "quick").rglob("record.json"))
    run_key = read_record(path).run_key
    path.write_text(damage(path.read_text()))
    assert run() == 0
    assert str(path) in capsys.readouterr().err
    assert str(path) in (tmp_path / "reports" / "index.html").read_text(encoding="utf-8")
    assert run_key not in (tmp_path / "reports" / "results.csv").read_text(encoding="utf-8")


def test_commands_that_read_name_a_damaged_file_and_leave_it(run, tmp_path, suite_path, results_dir, capsys):
    path = min((results_dir / "quick").rglob("record.json"))
    stored = path.with_name("predictions.npz")
    stored.write_bytes(b"predictions")
    sums = {name: FileInfo(**found) for name, found in file_sums(path.parent, stored.name).items()}
    write_record(path, read_record(path).model_copy(update={"files": sums}))
    stored.write_bytes(b"predictionz")
    before = {file: file.read_bytes() for file in results_dir.rglob("*") if file.is_file()}

    out = ["--out", str(tmp_path / "out")]
    commands = {
        "show quick": [],
        "verify quick": ["--receipts-dir", str(tmp_path / "receipts")],
        "summary": [],
        "export quick --format md --figures svg": out,
        "crate quick": out,
    }
    folders = ["--suites-dir", str(suite_path.parent), "--results-dir", str(results_dir)]
    for command, options in commands.items():
        done = CliRunner().invoke(app, [*command.split(), *options, *folders])
        assert done.exit_code in (0, 1, 3), done.output
    assert run() == 0
    assert f"{stored}: not as its record says; delete it, then run" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in results_dir.rglob("*") if file.is_file()} == before


def test_a_record_of_other_settings_does_not_count_however_new(suite_path, results_dir, make_record):
    changes = {"run_key": "0" * 16, "metrics": {"test_errors": 1.0}}
    write(results_dir, make_record("mnist", "gem", "CalibratedLeastSquares", 0, finished="2027", **changes))
    assert "0" * 16 not in {record.run_key for record in read_inputs([suite_path], results_dir).records}


def test_a_run_that_the_suite_dropped_does_not_count(suite_path, results_dir, few, make_record):
    write(results_dir, make_record("mnist", "gem", "CalibratedLeastSquares", 7))
    old = {"method": "old", "run_key": "e" * 16}
    write(results_dir, make_record("mnist", "gem", "CalibratedLeastSquares", 0, **old))
    found = read_inputs([suite_path], results_dir).records
    assert sorted(record.run_key for record in found) == sorted(record.run_key for record in few)


@pytest.mark.parametrize("repeated", [["--suite"], []])
def test_several_suites_may_be_asked_for(run, suite_path, tmp_path, repeated):
    second = shutil.copy(suite_path, tmp_path / "second.yaml")
    assert run("--suite", str(suite_path), *repeated, str(second)) == 0
    assert 'id="suite-second"' in (tmp_path / "reports" / "index.html").read_text(encoding="utf-8")


def test_a_suite_that_was_asked_for_must_be_valid(tmp_path, results_dir, capsys):
    path = tmp_path / "bad.yaml"
    path.write_text("title: x\nexperimnts: {}\n", encoding="utf-8")
    with pytest.raises(SuiteError, match="experimnts"):
        read_inputs([path], results_dir)
    assert main(["--suite", str(path), "--reports-dir", str(tmp_path / "reports")]) == 1
    assert "bad.yaml" in capsys.readouterr().err
