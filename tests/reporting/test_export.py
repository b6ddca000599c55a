"""Files of `eigenbench export`: tables that LaTeX, Markdown and spreadsheets read, and figures."""

import re
import shutil
import subprocess

import pytest
from record_files import plan_of
from typer.testing import CliRunner

from eigenbench.cli import app
from eigenbench.reporting import ReportError
from eigenbench.reporting.display_names import method_name
from eigenbench.reporting.export import export_suite
from eigenbench.reporting.inputs import ReportInputs
from eigenbench.reporting.leaderboard import leaderboard
from eigenbench.reporting.shown_table import Cell, Row, ShownTable
from eigenbench.reporting.site import render

pytestmark = pytest.mark.workflow

HARD = "a_b ħ a--b & 50 % of $x^2$ #1 {~} \\ [c] <d> |e| −1 – é ± × Ω η → ◆"
DOCUMENT = (
    r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs}\begin{document}%s\end{document}"
)


@pytest.fixture
def export(tmp_path, suite_path, results_dir):
    def export(**options):
        options = {"results_dir": results_dir, **options}
        return export_suite(suite_path, tmp_path / "out", **options)

    return export


@pytest.fixture
def hard() -> ShownTable:
    rows = [Row.of({HARD: "[x]", "%": "1"}), Row.of({HARD: Cell(HARD, style="best"), "%": "2\n3"})]
    return ShownTable("hard", f"{HARD}\n\nend", rows, ("%",))


def test_each_table_and_figure_is_a_file_in_each_format(export, tmp_path):
    names = export()
    assert names == sorted(path.name for path in (tmp_path / "out").iterdir())
    tables = {"quick-published", "quick-mnist-leaderboard", "quick-digits-leaderboard"}
    drawn = ("forest", "time", "dimension", "confusion-1", "confusion-2")
    curves = ("curve-1-loss-curve", "curve-2-validation-curve")
    figures = {f"quick-mnist-{what}" for what in drawn + curves}
    expected = {f"{name}.{ending}" for name in tables for ending in ("tex", "md", "csv")}
    expected |= {f"{name}.{ending}" for name in figures for ending in ("svg", "png", "pdf")}
    assert set(names) == expected | {"figures.md"}
    captions = (tmp_path / "out" / "figures.md").read_text(encoding="utf-8").splitlines()
    assert {line.split("`")[1] for line in captions[2:]} == figures
    begin = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<svg"}
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes().startswith(begin.get(path.suffix[1:], b""))


def test_the_numbers_are_those_of_the_report(export, tmp_path, suite, suite_path, few, results_dir):
    export(figures=["svg"])
    out, report = tmp_path / "out", tmp_path / "r"
    render(ReportInputs([plan_of(suite)], {"quick": suite_path}, few, results_dir), report)
    assert (out / "quick-published.csv").read_bytes() == (report / "comparison.csv").read_bytes()
    boards = [(out / f"quick-{name}-leaderboard.csv").read_text() for name in ("mnist", "digits")]
    assert boards[0] + boards[1].partition("\n")[2] == (report / "leaderboard.csv").read_text()
    name = "quick-mnist-time.svg"
    assert (out / name).read_bytes() == (report / "figures" / name).read_bytes()


def test_bold_lines_are_the_tie_group(export, tmp_path, suite, few, results_dir):
    export(figures=[])
    board = leaderboard(plan_of(suite), "mnist", few, results_dir)
    tied = board.loc[board["tied"].fillna(board["rank"] == 1), "method"].tolist()
    tex = (tmp_path / "out" / "quick-mnist-leaderboard.tex").read_text()
    found = re.findall(r"^\\textbf\{\d+(?: =)?\} & \\textbf\{(.+?)\} &", tex, re.MULTILINE)
    assert found == [method_name(name) for name in tied]
    markdown = (tmp_path / "out" / "quick-mnist-leaderboard.md").read_text().splitlines()
    assert len([line for line in markdown if line.lstrip("| ").startswith("**")]) == len(tied)


def test_latex_reads_every_table(export, hard, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    export(figures=[])
    tables = [hard.latex(), *(path.read_text() for path in sorted((tmp_path / "out").glob("*.tex")))]
    (tmp_path / "all.tex").write_text(DOCUMENT % "\n".join(tables), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert (tmp_path / "all.pdf").read_bytes().startswith(b"%PDF")


def test_sources_of_published_numbers_are_a_column(export, tmp_path, suite):
    export(tables=["md"], figures=[])
    _, _, heading, _, *lines = (tmp_path / "out" / "quick-published.md").read_text().splitlines()
    assert [cell.strip() for cell in heading.split("|")[1:3]] == ["Source", "Method"]
    numbers = [number for spec in suite.experiments.values() for number in spec.published]
    assert len(lines) == len(numbers)
    assert all(number.source in line for number, line in zip(numbers, lines, strict=True))


def test_markdown_keeps_every_character(hard):
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(hard.markdown())
    cells = [
        "".join(child.content for child in token.children)
        for place, token in enumerate(tokens)
        if token.type == "inline" and tokens[place - 1].type in ("th_open", "td_open")
    ]
    assert cells == [HARD, "%", "[x]", "1", HARD, "2 3"]


def test_an_unknown_format_and_a_suite_without_records_are_errors(export, tmp_path):
    with pytest.raises(ReportError, match="no format 'docx'; there are: tex, md, csv"):
        export(tables=["docx"])
    with pytest.raises(ReportError, match="no format 'gif'; there are: svg, png, pdf"):
        export(figures=["gif"])
    with pytest.raises(ReportError, match="run snakemake quick, or name --results-dir"):
        export(results_dir=tmp_path / "nothing")
    assert not (tmp_path / "out").exists()


def test_the_command_writes_what_it_is_asked_for(tmp_path, suite_path, results_dir):
    options = ["--suites-dir", str(suite_path.parent), "--results-dir", str(results_dir)]
    out = tmp_path / "paper"
    command = ["export", "quick", "--format", "md", "--figures", "", "--out", str(out)]
    done = CliRunner().invoke(app, command + options)
    assert done.exit_code == 0, done.output
    assert {path.suffix for path in out.iterdir()} == {".md"}
    assert f"{out}: 3 files" in done.output
