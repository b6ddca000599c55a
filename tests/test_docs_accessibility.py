"""The pages of the documentation, as built, in a real browser under axe."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
BUILT = Path(os.environ.get("EIGENBENCH_DOCS") or REPOSITORY / "docs" / "_build")
# One page of each kind that is generated, and all that are written.
GENERATED = ("reference/*.GEM.html", "auto_examples/index.html", "genindex.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(browser, violations, scheme):
    if not (BUILT / "index.html").is_file():
        pytest.skip(
            f"no pages in {BUILT}: sphinx-build docs docs/_build, or name their folder EIGENBENCH_DOCS"
        )
    docs = REPOSITORY / "docs"
    written = [path for pattern in ("[!_]*.md", "methods/*.md") for path in sorted(docs.glob(pattern))]
    pages = [BUILT / path.relative_to(docs).with_suffix(".html") for path in written]
    pages += [path for pattern in GENERATED for path in sorted(BUILT.glob(pattern))]
    page = browser.new_page(color_scheme=scheme)
    found = {}
    for path in filter(Path.is_file, pages):
        page.goto(path.as_uri())
        if wrong := violations(page):
            found[path.name] = wrong
    page.close()
    assert found == {}
