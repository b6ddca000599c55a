"""Settings that say nothing clear are refused, and the refusal says what is wrong."""

import re

import pytest
from pydantic import ValidationError

from eigenbench.bench.protocols.available import PROTOCOLS

VALID = {
    "detectors": {"pairs": [("3", "2")], "image": (8, 8)},
    "ensemble": {"members": 2},
    "kernel_error": {"degree": 3},
    "label_embedding_scale": {},
    "label_structure": {},
    "learning_curve": {"train_rows": (250, 1000)},
    "linear_svm": {"degree": 3},
    "map_speed": {},
    "paired_comparison": {"variants": {"a": {}, "b": {}}, "reference": "a"},
    "real_targets": {"targets": (0,)},
    "streaming": {"checkpoints": (200,), "batch_size": 100},
    "sweep": {"values": {"gem__top": [1]}},
    "transfer": {"source_classes": 4, "source_per_class": 6, "target_classes": 3, "target_per_class": 4},
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_settings_to_begin_with_are_valid(name):
    settings = PROTOCOLS[name].settings()(**VALID[name])
    assert settings.metrics()


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("detectors", {"pairs": [("3", "3")]}, "different classes"),
        ("ensemble", {"variants": ({}, {}, {})}, "3 variants need as many members, there are 2"),
        ("learning_curve", {"train_rows": ()}, "either 'train_rows' or 'classes'"),
        ("learning_curve", {"classes": (2,), "rows_per_class": 2}, "either 'train_rows' or 'classes'"),
        ("learning_curve", {"train_rows": (), "classes": (2,)}, "'rows_per_class' belongs"),
        ("learning_curve", {"train_rows": (20, 10)}, "must ascend"),
        ("learning_curve", {"block": 2}, "'block' needs an 'image'"),
        ("learning_curve", {"block": 3, "image": (8, 8)}, "'block' needs an 'image'"),
        ("learning_curve", {"seeds_per_size": (2, 3)}, "needs 2 descending numbers"),
        ("map_speed", {"vary": "n_inputs"}, "n_components belongs to vary: n_inputs"),
        ("map_speed", {"n_components": 3}, "n_components belongs to vary: n_inputs"),
        ("paired_comparison", {"reference": "all"}, "'reference' must be one of the variants a, b"),
        ("paired_comparison", {"variants": {"a": {}}}, "at least 2"),
        ("paired_comparison", {"variants": {"a": {}, "A cube": {}}}, "pattern"),
        (
            "paired_comparison",
            {"variants": {"a": {}, "b": {"gem": "NeighborhoodGEM"}}},
            "'gem' of variant 'b' must be {Name: {parameter: value}}, not 'NeighborhoodGEM'",
        ),
        ("streaming", {"checkpoints": ()}, "needs at least one number of examples"),
        ("streaming", {"checkpoints": (150,)}, "multiples of batch_size=100"),
        ("streaming", {"checkpoints": (200, 100)}, "sizes must ascend"),
        ("sweep", {"values": {}}, "either 'values' or 'sizes'"),
        ("sweep", {"sizes": [5]}, "either 'values' or 'sizes'"),
        ("sweep", {"values": {"gamma": [1]}}, "must name a step"),
        ("sweep", {"values": {"gem__gamma": [0.1, 0.2]}}, "at least one 'unit'"),
        ("sweep", {"values": {"gem__top": []}}, "at least one 'unit'"),
        ("sweep", {"values": {}, "sizes": [1, 4]}, "greater than or equal to 2"),
        ("sweep", {"values": {}, "sizes": [5], "axis": "Gamma by"}, "axis"),
        ("transfer", {"smoothing": 1.0}, "'smoothing' needs 'image'"),
        ("transfer", {"deformed_copies": {"copies": 1}}, "'deformed_copies' needs 'image'"),
        ("transfer", {"target": "other", "by_part": True}, "give 'target'"),
    ],
)
def test_what_does_not_fit_is_refused(name, changes, words):
    with pytest.raises(ValidationError, match=re.escape(words)):
        PROTOCOLS[name].settings()(**VALID[name] | changes)
