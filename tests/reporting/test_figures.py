"""Charts of very many methods: each looks different from every other."""

from __future__ import annotations

from itertools import product
from string import ascii_lowercase
from xml.etree import ElementTree

import pytest

from eigenbench.reporting.figures import error_against, learning_curves
from eigenbench.reporting.replicates import RunGroup

# Names that end in a letter: those that differ in a number are one family.
NAMES = ["".join(pair) for pair in product(ascii_lowercase[:6], ascii_lowercase[:10])]


@pytest.fixture
def groups(records) -> list[RunGroup]:
    record = next(record for record in records if record.metrics and record.fit_seconds)
    curves = {"loss": [(1, 0.5), (2, 0.25)]}
    return [
        RunGroup(name, "any", (record.model_copy(update={"method": name, "curves": curves}),), 1, None)
        for name in NAMES
    ]


@pytest.mark.parametrize("kind", ["points", "lines"])
def test_sixty_methods_look_different(groups, kind):
    if kind == "points":
        drawing = error_against(groups, "test_error", lambda record: record.fit_seconds, "time (s)")
    else:
        drawing = learning_curves(groups)
    looks: dict[str, list[str]] = {}
    for element in ElementTree.fromstring(drawing.svg("key")).iter():
        if "data-method" in element.attrib and element.find("{*}title") is None:
            drawn = [one.attrib for one in element.iter() if not one.tag.endswith("text")]
            marks = [
                str({key: one[key] for key in one.keys() - {"x", "y", "d", "data-method"}}) for one in drawn
            ]
            looks.setdefault(element.attrib["data-method"], []).extend(marks)
    assert sorted(looks) == NAMES
    assert len(set(map(tuple, looks.values()))) == len(NAMES)
