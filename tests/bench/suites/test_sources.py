"""``eigenbench cite``: the sources of each suite as BibTeX."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite_file import cited_sources, load_suite, suite_files
from eigenbench.cli import app
from eigenbench.datasets.project_files import project_folder

SUITES = suite_files(project_folder() / "config" / "suites")

TINY = """
title: Tiny
sources: [{keys}]
experiments:
  digits: {{dataset: digits, methods: {{pca: {{steps: [PCA]}}}}, classifiers: [LinearSVC]}}
"""


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_every_suite_cites_its_sources(path):
    suite = load_suite(path)
    text = cited_sources(suite)
    assert text.count("\n@") + 1 == len(suite.sources) > 0
    assert text.count("  title = {") == text.count("  author = {") == len(suite.sources)


def test_the_command_prints_the_entries_and_names_the_nearest_suite():
    done = CliRunner().invoke(app, ["cite", "gem_mnist"])
    assert done.exit_code == 0
    assert done.stdout.startswith("@inproceedings{karampatziakis2014,")
    with pytest.raises(SuiteError, match=r"no suite 'gem_mnits'.*Did you mean 'gem_mnist'"):
        CliRunner().invoke(app, ["cite", "gem_mnits"], catch_exceptions=False)


def test_a_suite_of_ones_own_has_entries_beside_it(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY.format(keys="own2026, maurer2005"))
    with pytest.raises(SuiteError, match="sources: 'own2026' is no entry"):
        cited_sources(load_suite(path))
    (tmp_path / "references.bib").write_text("@misc{own2026,\n  title = {Own}\n}\n")
    text = cited_sources(load_suite(path))
    assert text.startswith("@misc{own2026,")
    assert "@inproceedings{maurer2005," in text


def test_a_key_with_a_slip_gets_the_nearest_and_no_source_a_remedy(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY.format(keys="maurer2050"))
    with pytest.raises(SuiteError, match="maurer2005"):
        cited_sources(load_suite(path))
    path.write_text(TINY.format(keys=""))
    with pytest.raises(SuiteError, match=r"names no sources: list keys of references\.bib"):
        cited_sources(load_suite(path))
