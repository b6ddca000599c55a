"""Pictures of exhibits: what is in them can be read back, and unusual ones are no error."""

import base64
import io
import re
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from eigenbench.bench.exhibits import BaseExhibit, Boxes, Exhibit, Histogram, Images, Scatter
from eigenbench.bench.records.record import Confusion
from eigenbench.reporting import exhibit_plots

SCATTER = Scatter(title="t", x=[0.0, 1.0], y=[0.5, 2.0], labels=["a", "b"], x_label="left", y_label="up")
DENSITIES = {"near": [0.6, 0.2], "far": [0.0, 0.5]}
HISTOGRAM = Histogram(title="t", edges=[0.0, 1.0, 3.0], densities=DENSITIES, x_label="d", marker=1.5)
IMAGES = Images(title="t", height=2, width=3, rows={"first": [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]] * 2})
BOXES = Boxes(title="t", groups={"0": (0.0, 1.0, 2.0, 3.0, 4.0), "1": (1.0, 1.0, 1.0, 1.0, 1.0)}, y_label="v")
ALL = [SCATTER, HISTOGRAM, IMAGES, BOXES]


def embedded(svg: str) -> list[np.ndarray]:
    """Return the pixels of the pictures inside an SVG."""
    found = re.findall(r"data:image/png;base64,([^\"]+)", svg)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGBA")) for text in found]


@pytest.mark.parametrize("exhibit", ALL, ids=lambda exhibit: exhibit.kind)
def test_every_kind_is_drawn_in_the_colour_of_the_page(exhibit):
    svg = exhibit_plots.drawing(exhibit).svg("k")
    assert svg == exhibit_plots.drawing(exhibit).svg("k")
    assert svg.startswith("<svg")
    assert "currentColor" in svg
    drawn = [exhibit_plots.drawing(exhibit).svg(key) for key in "kl"]
    names, others = (set(re.findall(r'\bid="([^"]+)"', one)) for one in drawn)
    assert names.isdisjoint(others), "identifiers are unique on a page"
    assert exhibit.title in exhibit.describe()


def test_the_kinds_here_are_all_that_a_record_can_hold():
    union, _ = get_args(Exhibit)
    assert set(get_args(union)) == set(map(type, ALL)) == set(BaseExhibit.__subclasses__())


def test_labels_groups_and_marks_can_be_read():
    for exhibit, words in [
        (SCATTER, ("left", "up", "a", "b")),
        (HISTOGRAM, ("near", "far", "d", "1.5", "density")),
        (IMAGES, ("first",)),
        (BOXES, ("0", "1", "v")),
    ]:
        texts = re.findall(r"<text[^>]*>([^<]*)</text>", exhibit_plots.drawing(exhibit).svg("k"))
        assert set(words) <= set(texts)


@settings(max_examples=20)
@given(
    height=st.integers(1, 6),
    width=st.integers(1, 6),
    counts=st.lists(st.integers(1, 3), min_size=1, max_size=3),
)
def test_images_are_embedded_pixel_by_pixel(height, width, counts):
    generator = np.random.default_rng(0)
    rows = {f"row {i}": generator.normal(size=(count, height * width)) for i, count in enumerate(counts)}
    exhibit = Images(title="t", height=height, width=width, rows={n: v.tolist() for n, v in rows.items()})
    (pixels,) = embedded(exhibit_plots.drawing(exhibit).svg("k"))
    assert pixels.shape[:2] == (len(counts) * (height + 1) - 1, max(counts) * (width + 1) - 1)
    shown = np.zeros(pixels.shape[:2], bool)
    for row, images in enumerate(rows.values()):
        for column, image in enumerate(images):
            place = np.s_[row * (height + 1) :, column * (width + 1) :]
            found = pixels[place][:height, :width]
            shown[place][:height, :width] = True
            span = np.ptp(image)
            expected = 255 * (image - image.min()) / span if span else np.full(image.shape, 127.5)
            np.testing.assert_allclose(found[..., 0].ravel(), expected, atol=1)
    np.testing.assert_array_equal(pixels[..., 3], np.where(shown, 255, 0))


def test_a_picture_of_many_points_stays_small():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 20_000)).tolist()
    labels = [str(i % 10) for i in range(20_000)]
    svg = exhibit_plots.drawing(Scatter(title="t", x=x, y=y, labels=labels)).svg("k")
    assert len(embedded(svg)) == 1
    assert len(svg) < 200_000


def test_numbers_among_labels_come_in_their_order():
    exhibit = Scatter(title="t", x=[0.0] * 3, y=[0.0] * 3, labels=["10", "9", "b"])
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", exhibit_plots.drawing(exhibit).svg("k"))
    assert [text for text in texts if text in ("9", "10", "b")] == ["9", "10", "b"]


def test_markup_in_a_name_is_text():
    evil = "<script>$\\alpha$"
    exhibit = Boxes(title=evil, groups={evil: (0.0, 1.0, 2.0, 3.0, 4.0)}, y_label=evil)
    svg = exhibit_plots.drawing(exhibit).svg("k")
    assert "<script" not in svg
    assert "&lt;script&gt;$\\alpha$" in svg


def test_exhibits_become_files_for_the_dashboard():
    named = [exhibit.model_copy(update={"title": f"A/b: {exhibit.kind} é"}) for exhibit in ALL]
    files = exhibit_plots.exhibit_files(named)
    names = [f"exhibits/{i:02d}-a-b-{exhibit.kind}.png" for i, exhibit in enumerate(ALL, start=1)]
    assert list(files) == names
    for content in files.values():
        pixels = np.asarray(Image.open(io.BytesIO(content)).convert("L"))
        assert min(pixels.shape) > 50
        assert pixels.max() == 255
        assert pixels.min() < 100


def test_long_class_names_are_cut_at_letters():
    labels = ["Iris-versicolor", "agricultural_land", "short"]
    found = exhibit_plots.confusion_drawing(Confusion(labels=labels, matrix=np.eye(3, dtype=int).tolist()))
    texts = re.findall(r">([^<>]+)</text>", found.svg("k"))
    assert {"Iris-versicol…", "agricultural_…", "short"} <= set(texts)
