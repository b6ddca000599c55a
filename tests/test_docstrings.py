"""Docstrings begin with a noun or a verb, and the examples of public ones are true."""

import ast
import doctest
from importlib import import_module
from pathlib import Path
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


def test_docstrings_begin_with_a_noun_or_a_verb():
    others = {"How", "It", "That", "These", "This", "What", "When", "Where", "Whether", "Which", "Who", "Why"}
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        f"{path.name}: {text.splitlines()[0]}"
        for path in Path(eigenbench.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds) and (text := ast.get_docstring(node)) and text.split()[0] in others
    ]
    assert found == []
