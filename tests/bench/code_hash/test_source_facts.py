"""What was found in a source file is kept for the next process, and never taken for another text."""

import pytest

from eigenbench.bench.code_hash.source_facts import KeptFacts, facts_of

TEXT = 'import json\nfrom a.b import c, d\n_EXPORTS = {"GEM": "gem"}\n\n\ndef f():\n    import e\n'


def parsed(monkeypatch):
    """Return a list that grows by every text that is parsed from now on."""
    found = []

    def noted(text):
        found.append(text)
        return facts_of(text)

    monkeypatch.setattr("eigenbench.bench.code_hash.source_facts.facts_of", noted)
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    return found


def test_the_facts_of_a_text():
    found = facts_of(TEXT)
    assert sorted(found.imports) == [("a.b", ["c", "d"]), ("e", []), ("json", [])]
    assert found.exports == {"GEM": "gem"}
    assert facts_of("x = 1").exports == {}


def test_a_text_is_parsed_once_and_another_again(tmp_path, monkeypatch):
    texts = parsed(monkeypatch)
    for text in (TEXT, TEXT, "x = 1", TEXT):
        process = KeptFacts(tmp_path / "kept.json")
        assert process.of(text).digest == facts_of(text).digest
        process.keep()
    assert texts == [TEXT, "x = 1"]


def test_processes_side_by_side_keep_what_each_of_them_found(tmp_path, monkeypatch):
    texts = parsed(monkeypatch)
    first, second = (KeptFacts(tmp_path / "kept.json") for _ in range(2))
    first.of("x = 1")
    second.of("y = 1")
    first.keep()
    second.keep()
    third = KeptFacts(tmp_path / "kept.json")
    assert third.of("x = 1") != third.of("y = 1")
    assert len(texts) == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"a": 1', b"\xff"])
def test_a_damaged_file_is_parsed_around_and_replaced(tmp_path, monkeypatch, content):
    texts = parsed(monkeypatch)
    path = tmp_path / "kept.json"
    path.write_bytes(content)
    for _ in range(2):
        process = KeptFacts(path)
        assert process.of(TEXT) == facts_of(TEXT)
        process.keep()
    assert texts == [TEXT]


@pytest.mark.parametrize("refuse", ["folder", "variable"])
def test_where_nothing_may_be_written_every_process_parses(tmp_path, monkeypatch, refuse):
    texts = parsed(monkeypatch)
    (tmp_path / "file").touch()
    folder = tmp_path / ("file" if refuse == "folder" else "new")
    monkeypatch.setattr("sys.dont_write_bytecode", refuse == "variable")
    for _ in range(2):
        process = KeptFacts(folder / "kept.json")
        process.of(TEXT)
        process.keep()
    assert texts == [TEXT, TEXT]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
