"""The page of defaults holds what the reference results show."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "defaults.py"


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("docs_defaults", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_the_page_are_those_of_the_reference(page):
    text = page.PAGE.read_text(encoding="utf-8")
    for name, block in page.blocks().items():
        assert f"<!-- from {name} -->\n{block}" in text, "run python docs/defaults.py"


def test_every_estimator_has_errors_on_twelve_datasets(page):
    errors = page.read()["errors"].unstack()
    names = {*page.OURS, *(f"{name} tuned" for name in page.OURS), *page.PEERS}
    assert names == set(errors.columns)
    assert errors.shape[0] == 12
    assert np.isfinite(errors.to_numpy()).all()


def test_ratios_compare_counts_with_half_an_error_added(page):
    results = page.read()
    counts = results["errors"].unstack()
    expected = (counts["GEM"]["wdbc"] + 0.5) / (counts["GEM tuned"]["wdbc"] + 0.5)
    assert page.error_ratios(results, "GEM")["wdbc"] == pytest.approx(expected)
