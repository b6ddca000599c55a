"""The page of learning curves holds what the reference results show."""

import importlib.util
import sys
from pathlib import Path

import pytest

from eigenbench.comparison.learning_curves import crossing, ratio_of_errors, rows_needed

SCRIPT = Path(__file__).parents[1] / "docs" / "learning_curves.py"


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("docs_learning_curves", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def errors(page):
    return page.curves("test_error")


def test_the_tables_of_the_page_are_those_of_the_reference(page):
    text = page.PAGE.read_text(encoding="utf-8")
    for name, block in page.blocks().items():
        assert f"<!-- from {name} -->\n{block}" in text, "run python docs/learning_curves.py"


def test_every_method_has_every_size_and_seed(errors):
    for methods in errors.values():
        assert len(methods) >= 14
        for curve in methods.values():
            assert curve.shape[0] >= 10
            assert curve.notna().sum().min() >= 3


def test_the_claims_of_the_first_paragraph(errors):
    """GEM leads random directions on Letter, Fourier features overtake it; on MAGIC it leads neither."""
    letter, magic = errors["letter", "rows"], errors["magic", "rows"]
    assert (ratio_of_errors(letter["gem"], letter["random"])["high"] < 1).all()
    assert rows_needed(letter["gem"], letter["random"], 4000).rows == pytest.approx(8500, rel=0.03)
    assert crossing(letter["gem"], letter["fourier"]) == (1000, 15000)
    assert (ratio_of_errors(magic["gem"], magic["random"])["high"] > 1).all()
