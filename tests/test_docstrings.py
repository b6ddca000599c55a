"""The examples in public docstrings are part of the documentation: they must be true."""

import doctest
from importlib import import_module
from pkgutil import walk_packages

import pytest

import eigenbench

#: Packages whose modules have examples, beside the modules at the top.
PACKAGES = ("linalg", "moments", "embeddings", "classifiers", "metrics", "peers")


def modules():
    for found in walk_packages(eigenbench.__path__, "eigenbench."):
        parts = found.name.split(".")
        if len(parts) == 2 or parts[1] in PACKAGES:
            yield found.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name):
    try:
        module = import_module(name)
    except ImportError as error:
        if not name.startswith("eigenbench.methods.peers."):
            raise
        pytest.skip(str(error))
    assert doctest.testmod(module).failed == 0
