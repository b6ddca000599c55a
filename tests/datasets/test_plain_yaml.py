"""Plain values are those of YAML 1.2, and what is written is read back by readers of 1.1 too."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.datasets.plain_yaml import read_yaml, write_yaml

NUMBERS = {"1e-3": 0.001, "+.5": 0.5, "5.": 5.0, "-.inf": -math.inf, "010": 10, "0o17": 15, "0x1F": 31}
OTHERS = {"True": True, "~": None, "'1e3'": "1e3"} | {text: text for text in ("1:30", "1_000", "yes", "None")}


@pytest.mark.parametrize(("text", "value"), (NUMBERS | OTHERS).items())
def test_numbers_are_those_of_yaml_1_2(tmp_path, text, value):
    path = tmp_path / "sample.yaml"
    path.write_text(f"key: [{text}]\n")
    (found,) = read_yaml(path)["key"]
    assert (found, type(found)) == (value, type(value))


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6) | st.sampled_from(
    ["1e3", "010", "1:30", "yes", "null", "~", "", "2026-01-01", "<<", "0x1", ".5", "None", "="]
)
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(value=VALUES)
def test_what_is_written_is_read_back(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "written.yaml"
    path.write_text(write_yaml(value), encoding="utf-8")
    assert read_yaml(path) == value
    assert yaml.safe_load(path.read_text(encoding="utf-8")) == value
