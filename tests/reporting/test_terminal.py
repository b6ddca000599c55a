"""The tables in the terminal: 80 columns, no colour codes in a pipe, nothing lost."""

import io
import re
from pathlib import Path

from record_files import plan_of

from eigenbench.reporting.replicates import group_runs
from eigenbench.reporting.terminal_tables import print_comparison, print_summary, standard_output


def test_the_summary_fits_in_a_pipe(suite, records, pipe):
    print_summary(
        [suite], group_runs([plan_of(suite)], records), report=Path("reports/index.html"), console=pipe
    )
    text = pipe.file.getvalue()
    lines = text.splitlines()
    assert "\x1b" not in text
    assert max(map(len, lines)) <= 80
    assert "Report:     reports/index.html" in lines
    assert "Dashboard:  eigenbench ui" in lines
    assert "Runs:       59 ok, 1 failed, 3 not run, 1 no record" in lines


def test_every_published_number_has_a_line(suite, records, pipe):
    print_comparison([suite], group_runs([plan_of(suite)], records), pipe)
    lines = pipe.file.getvalue().splitlines()
    gem = next(line for line in lines if "108" in line)
    assert gem.split()[-7:] == ["errors", "108", "111", "[92.3,", "133.5]", "1", "reproduced"]
    assert "Dropout: not run (a neural network, only quoted)" in lines
    assert sum(bool(re.search(" (reproduced|better|off|not run)( †)? *$", line)) for line in lines) == 7


def test_brackets_in_names_are_not_markup(suite, make_record, pipe):
    runs = [make_record("digits", "gem", "LinearSVC", seed, method="[red]x[/red]") for seed in range(3)]
    print_summary([suite], group_runs([plan_of(suite)], runs), report=Path("[bold]/index.html"), console=pipe)
    text = pipe.file.getvalue()
    assert "[red]x[/red]" in text
    assert "[bold]/index.html" in text


def test_a_long_report_path_is_not_broken(suite, pipe):
    path = Path("/".join(["a-long-folder-name"] * 8)) / "index.html"
    print_summary([suite], group_runs([plan_of(suite)], []), report=path, console=pipe)
    assert f"Report:     {path}" in pipe.file.getvalue().splitlines()


def test_a_terminal_without_unicode_is_no_error(suite, monkeypatch):
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", ascii_only)
    print_comparison([suite], group_runs([plan_of(suite)], []), standard_output())
    ascii_only.flush()
    assert b"Dropout: not run (a neural network, only quoted)" in ascii_only.buffer.getvalue()
