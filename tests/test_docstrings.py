"""Docstrings begin with a noun or a verb, and the examples of public ones are true."""

import ast
import doctest
from importlib import import_module
from pathlib import Path

import pytest

import eigenbench

ROOT = Path(eigenbench.__file__).parent


def modules_with_examples():
    for path in sorted(ROOT.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            yield ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_examples(name):
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if not name.startswith("eigenbench.methods.peers."):
            raise
        pytest.skip(str(error))
    results = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.attempted > 0
    assert results.failed == 0


def test_docstrings_begin_with_a_noun_or_a_verb():
    others = {"How", "It", "That", "These", "This", "What", "When", "Where", "Whether", "Which", "Who", "Why"}
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        f"{path.name}: {text.splitlines()[0]}"
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds) and (text := ast.get_docstring(node)) and text.split()[0] in others
    ]
    assert found == []
