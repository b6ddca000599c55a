"""Pages that a person reads: their code runs, and their sentences are short and plain (docs/style.md)."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.cli import app

pytestmark = pytest.mark.workflow

REPOSITORY = Path(__file__).resolve().parents[1]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Fenced code, blocks between comments that scripts write, comments, and displayed formulas.
_NOT_PROSE = re.compile(
    r"^ *(`{3,}).*?^ *\1|<!-- from .*?<!-- end -->|<!--.*?-->|\$\$.*?\$\$", re.MULTILINE | re.DOTALL
)
_TABLE_HEADING_OR_PICTURE = re.compile(r"^ *(\||#|!\[| {4}\S).*$", re.MULTILINE)
_END_OF_SENTENCE = re.compile(
    r"(?<=[.!?])[)\"'*]*\s+(?=[A-Z`*(\"†0-9[])|(?<=:)\s|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s+"
)
_FORBIDDEN = re.compile(
    r"\b(told apart|tells?|c[oa]me out again|can(no|')t be told|that of|users take|by the clock"
    r"|what [\w ]{1,40} says?|as [\w ]{1,30} have it)\b",
    re.IGNORECASE,
)
FOLDERS = ("", "docs/", "docs/methods/", "config/", "benchmarks/", "reports/reference/**/")
PAGES = sorted(
    path
    for folder in FOLDERS
    for path in REPOSITORY.glob(f"{folder}*.md")
    if path.name not in ("CODE_OF_CONDUCT.md", "style.md", "verdicts.md")
)


def prose(text: str) -> str:
    """Return the text of a page without code, formulas, tables, headings and pictures."""
    return _TABLE_HEADING_OR_PICTURE.sub("\n", _NOT_PROSE.sub("\n", text))


def sentences(text: str) -> list[str]:
    return [" ".join(part.split()) for part in _END_OF_SENTENCE.split(text) if part and part.strip()]


def n_words(text: str) -> int:
    return sum(any(map(str.isalnum, word)) for word in text.split())


def suite_texts(path: Path) -> Iterator[str]:
    suite = load_suite(path)
    yield from (suite.title, suite.description)
    for deviation in suite.deviations:
        yield from (deviation.paper, deviation.here, deviation.why)
    yield from (one.title or "" for one in suite.experiments.values())


SUITES = sorted((REPOSITORY / "config" / "suites").glob("*.yaml"))
IDS = {"ids": lambda path: str(path.relative_to(REPOSITORY))}


@pytest.mark.parametrize("document", ["README.md", "docs/tutorial.md", "docs/index.md"])
def test_its_python_runs_in_an_empty_folder(document, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EIGENBENCH_DATA", str(tmp_path / "data"))
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    blocks = PYTHON.findall(text)
    assert blocks
    exec(compile("\n".join(blocks), document, "exec"), {})
    for shown in re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        assert capsys.readouterr().out == shown


@pytest.mark.parametrize("path", PAGES, **IDS)
def test_no_sentence_of_a_page_is_longer_than_forty_words(path):
    found = sentences(prose(path.read_text(encoding="utf-8")))
    assert [one for one in found if n_words(one) > 40] == []


@pytest.mark.parametrize("path", SUITES, **IDS)
def test_no_sentence_of_a_suite_is_longer_than_forty_words(path):
    found = [one for text in suite_texts(path) for one in sentences(text)]
    assert [one for one in found if n_words(one) > 40] == []


@pytest.mark.parametrize("path", [path for path in PAGES if path.name != "CHANGELOG.md"], **IDS)
def test_no_page_has_more_than_1200_words(path):
    assert n_words(_NOT_PROSE.sub("\n", path.read_text(encoding="utf-8"))) <= 1200


def test_the_readme_has_at_most_90_lines():
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) <= 90


@pytest.mark.parametrize(
    "path", [*PAGES, *SUITES, *sorted((REPOSITORY / "src/eigenbench/reporting").rglob("*.j2"))], **IDS
)
def test_no_text_has_a_forbidden_phrase(path):
    text = _NOT_PROSE.sub("\n", path.read_text(encoding="utf-8"))
    assert [found.group() for found in _FORBIDDEN.finditer(" ".join(text.split()))] == []


def test_no_help_has_a_forbidden_phrase():
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    asked = {name: [name, "--help"] for name in names} | {"": ["--help"]}
    printed = {name: CliRunner().invoke(app, ask, catch_exceptions=False) for name, ask in asked.items()}
    assert len(printed) > 10
    assert all(done.exit_code == 0 for done in printed.values())
    words = {name: " ".join(done.output.split()) for name, done in printed.items()}
    assert {name: found[0] for name, text in words.items() if (found := _FORBIDDEN.search(text))} == {}
