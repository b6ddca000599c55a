from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.ndimage import center_of_mass, rotate

from eigenbench.datasets import MalformedData, load
from eigenbench.datasets.formats import Alphabet, PrintedFormat
from eigenbench.datasets.readers.printed import read_printed

FONT = Path(find_spec("matplotlib").submodule_search_locations[0]) / "mpl-data/fonts/ttf/DejaVuSans-Bold.ttf"
LETTERS = Alphabet(characters="Rfk", images=4)


def style(**changes):
    values = {"reader": "printed", "train": LETTERS, "test": LETTERS, "size": 28, "extent": 0.5, "blur": 1.0}
    return PrintedFormat.model_validate(values | {"seed": 3} | changes)


def images(alphabet=LETTERS, **changes):
    rows = read_printed(FONT, options=style(train=alphabet, **changes), part="train")
    side = changes.get("size", 28)
    return rows.features.reshape(-1, side, side).astype(float)


@pytest.mark.parametrize(
    "changes", [{"rotated": True}, {"scaled": (0.5, 1.5)}, {"rotated": True, "size": 16}]
)
def test_the_seed_determines_the_images(changes):
    np.testing.assert_array_equal(images(**changes), images(**changes))
    assert not np.array_equal(images(**changes), images(**changes, seed=4))


def test_more_characters_and_images_leave_the_first_ones_as_they_are():
    few = images(Alphabet(characters="fR", images=2), rotated=True, scaled=(0.5, 1.5))
    many = images(Alphabet(characters="Rxf", images=5), rotated=True, scaled=(0.5, 1.5))
    np.testing.assert_array_equal(few[:2], many[10:12])
    np.testing.assert_array_equal(few[2:], many[:2])


def test_the_centre_of_mass_stays_in_the_middle():
    for image in images(rotated=True, scaled=(0.5, 1.2)):
        np.testing.assert_allclose(center_of_mass(image), [13.5, 13.5], atol=0.1)


def test_rotated_images_are_rotations_of_the_upright_one():
    upright = images()[0]
    for image in images(rotated=True)[:4]:
        turned = (rotate(upright, angle, reshape=False, order=1) for angle in range(0, 360, 3))
        assert max(np.corrcoef(image.ravel(), other.ravel())[0, 1] for other in turned) > 0.99


def test_the_ink_grows_with_the_square_of_the_scale():
    single = images(blur=0.5)[0].sum()
    for factor in (0.5, 1.5):
        assert images(scaled=(factor, factor), blur=0.5)[0].sum() == pytest.approx(
            factor**2 * single, rel=0.02
        )


def test_the_extent_is_the_larger_side_of_the_character():
    image = images(Alphabet(characters="I-", images=1), blur=0.0, extent=0.5)
    sides = [max(np.ptp(axis) + 1 for axis in np.nonzero(character > 127)) for character in image]
    assert sides == [14, 14]


@pytest.mark.parametrize("character", ["\ue123", " "])
def test_a_character_that_the_font_does_not_draw_is_refused(character):
    with pytest.raises(MalformedData, match="the font doesn't draw it"):
        images(Alphabet(characters="a" + character, images=1))


def test_another_file_than_a_font_is_refused(tmp_path):
    path = tmp_path / "font.ttf"
    path.write_bytes(FONT.read_bytes()[:100])
    with pytest.raises(MalformedData, match=r"font\.ttf, font: "):
        read_printed(path, options=style(), part="train")


@pytest.mark.parametrize(
    "change",
    [
        {"train": {"characters": "aa", "images": 1}},
        {"train": {"characters": "ab", "images": 0}},
        {"scaled": (1.5, 0.5)},
        {"scaled": (0, 1)},
        {"extent": 0},
        {"blur": -1},
        {"size": 4},
    ],
)
def test_an_impossible_style_is_refused(change):
    with pytest.raises(ValidationError):
        style(**change)


def test_letters_for_training_and_digits_for_testing():
    data = load("printed_scaled")
    assert {record.kind for record in data.card.sources} == {"installed"}
    assert (data.X_train.dtype, data.X_train.shape[1]) == (np.float32, 784)
    seen = [np.unique(y, return_counts=True) for y in (data.y_train, data.y_test)]
    assert all((counts == 60).all() for _, counts in seen)
    letters, digits = ({data.classes[code] for code in codes} for codes, _ in seen)
    assert digits == set("0123456789")
    assert not letters & digits


def test_one_table_has_the_characters_of_both_parts():
    alphabets = {"train": {"characters": "abc", "images": 2}, "test": {"characters": "78", "images": 3}}
    rows = read_printed(FONT, options=style(rotated=True, **alphabets), part="all")
    assert rows.labels.tolist() == list("aabbcc777888")
    first = read_printed(FONT, options=style(rotated=True, **alphabets), part="train")
    np.testing.assert_array_equal(rows.features[:6], first.features)
