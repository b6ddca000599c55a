import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from changes import changes
from history import Measured, append, page, read
from rounds import measured

SRC = Path(__file__).parents[2] / "src"
QUANTITIES = {
    "a.work": 12.0,
    "b.work": 3.0,
    "a.error": 0.1,
    "b.loss": 0.4,
    "c.precision": 0.7,
    "d.angle": 0.02,
}


def values(rng, factors=None, n_rounds=8, noise=0.1):
    """Rounds of quantities: works with noise, qualities that a round's seed determines."""
    seeds = np.random.default_rng(5)
    found = {}
    for name, value in QUANTITIES.items():
        spread = rng if name.endswith("work") else seeds
        found[name] = (
            value * np.exp(noise * spread.standard_normal(n_rounds)) * (factors or {}).get(name, 1.0)
        )
    return found


def verdicts(before, after):
    return {change.quantity: change.verdict for change in changes(before, after) if change.verdict != "same"}


def test_equal_code_is_silent_in_nearly_all_comparisons():
    rng = np.random.default_rng(0)
    named = sum(bool(verdicts(values(rng, noise=0.25), values(rng, noise=0.25))) for _ in range(300))
    assert named <= 7  # 3 are expected, and 8 or more have a probability below 2 %


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ({"a.work": 1.5}, {"a.work": "worse"}),
        ({"a.work": 0.6, "b.work": 1.6}, {"a.work": "better", "b.work": "worse"}),
        ({"a.error": 1.1}, {"a.error": "worse"}),
        ({"b.loss": 0.9, "d.angle": 2.0}, {"b.loss": "better", "d.angle": "worse"}),
        ({"c.precision": 0.9}, {"c.precision": "worse"}),
        ({"c.precision": 1.1}, {"c.precision": "better"}),
        ({"a.error": 1.01, "b.loss": 1.005, "c.precision": 0.99}, {}),
    ],
)
def test_a_change_is_named_with_its_direction(factors, expected):
    rng = np.random.default_rng(1)
    assert verdicts(values(rng), values(rng, factors)) == expected


def test_a_perfect_result_that_becomes_imperfect_is_worse():
    before, after = {"a.error": [0.0] * 8}, {"a.error": [0.01, 0.02, 0.01, 0.03, 0.02, 0.01, 0.02, 0.02]}
    assert verdicts(before, after) == {"a.error": "worse"}
    assert verdicts(after, before) == {"a.error": "better"}
    assert verdicts(before, before) == {}


def test_a_quantity_that_is_gone_is_missing_and_a_new_one_is_no_change():
    assert verdicts({"a.work": [1.0, 2.0, 3.0]}, {"a.error": [1.0, 2.0, 3.0]}) == {"a.work": "missing"}


def test_the_page_marks_what_changed_since_the_record_before_on_the_same_machine(tmp_path):
    rng = np.random.default_rng(2)
    first = Measured("a" * 40, "2026-01-01", "v1", "one", 0.5, {k: list(v) for k, v in values(rng).items()})
    slower = {name: list(found) for name, found in values(rng, {"b.work": 2.0}).items()}
    elsewhere = replace(first, machine="two", rounds=slower)
    later = replace(first, commit="b" * 40, release=None, rounds=slower)
    path = tmp_path / "history.jsonl"
    assert page(read(path)) == "Nothing was recorded yet.\n"
    for record in (first, elsewhere, later):
        append(record, path)
    one, two = page(read(path)).split("### two")
    assert "**worse**" in next(line for line in one.splitlines() if "`b.work`" in line)
    assert one.count("worse") == 1
    assert "worse" not in two
    assert "v1" in one
    assert "`bbbbbbb`" in one


@pytest.mark.slow
def test_a_slowed_and_worsened_copy_is_found_and_a_copy_is_not(tmp_path):
    for name in ("copy", "changed"):
        shutil.copytree(SRC, tmp_path / name / "src")
    package = tmp_path / "changed" / "src" / "eigenbench" / "methods"
    append_to(
        package / "moments" / "__init__.py",
        "_update = ClassMoments.update\n\n\ndef _twice(self, X, y, *rest):\n"
        "    _update(ClassMoments(), X, y, *rest)\n    return _update(self, X, y, *rest)\n\n\n"
        "ClassMoments.update = _twice\n",
    )
    append_to(
        package / "embeddings" / "kernel_features" / "tensor_sketch.py",
        "\n_transform = TensorSketch.transform\n"
        "TensorSketch.transform = lambda self, X: 1.1 * _transform(self, X)\n",
    )
    folders = [SRC.parent, tmp_path / "copy", tmp_path / "changed"]
    before, copy, changed = measured(folders, 6, ["class_moments", "tensor_sketch"])
    assert verdicts(before, copy) == {}
    assert verdicts(before, changed) == {"class_moments.work": "worse", "tensor_sketch.kernel_error": "worse"}


def append_to(path, text):
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
