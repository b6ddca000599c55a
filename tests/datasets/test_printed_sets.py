"""The sets of printed characters as the catalogue has them; they need nothing but matplotlib's fonts."""

import numpy as np
import pytest

from eigenbench.datasets import load, load_catalogue

SETS = ("printed_rotated", "printed_scaled", "printed_rotated_scaled")


def test_the_alphabets_are_those_of_the_published_environments():
    letters = {name: set(load_catalogue().entry(name).format.train.characters) for name in SETS}
    digits = {name: set(load_catalogue().entry(name).format.test.characters) for name in SETS}
    assert len(letters["printed_scaled"]) == 44
    assert not letters["printed_scaled"] & set("ckosvwxz")
    assert digits["printed_scaled"] == set("0123456789")
    for name in ("printed_rotated", "printed_rotated_scaled"):
        assert letters[name] == set("abcdefghijklmnopqrstuvwxyz") - set("pqu")
        assert digits[name] == set("012345678")


@pytest.mark.parametrize(("name", "per_class"), [("printed_scaled", 60)])
def test_letters_for_training_and_digits_for_testing(name, per_class):
    data = load(name)
    assert {record.kind for record in data.card.sources} == {"installed"}
    assert (data.X_train.dtype, data.X_train.shape[1]) == (np.float32, 784)
    seen = [np.unique(y, return_counts=True) for y in (data.y_train, data.y_test)]
    assert all((counts == per_class).all() for _, counts in seen)
    letters, digits = ({data.classes[code] for code in codes} for codes, _ in seen)
    assert digits == set("0123456789")
    assert not letters & digits
