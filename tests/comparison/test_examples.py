import doctest
import importlib
import pkgutil

import pytest

from eigenbench import comparison

MODULES = [module.name for module in pkgutil.iter_modules(comparison.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    module = importlib.import_module(f"eigenbench.comparison.{name}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
