"""The detectors that are shown, and the responses to them, against GEM used by hand."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from eigenbench import GEM
from eigenbench.bench.exhibits import Boxes, Images
from eigenbench.bench.protocols.detectors import DetectorsSettings, measure

PAIRS = (("3", "2"), ("8", "0"))


FOUR = partial(GEM, top=4)


@pytest.fixture
def outcome(make_trial, digits):
    return measure(make_trial(DetectorsSettings(pairs=PAIRS, pictures=3, image=(8, 8)), *digits)(FOUR))


def test_pictures_are_the_leading_detectors_of_each_pair(outcome, digits):
    X, _, y, _ = digits
    images, _ = outcome.exhibits
    assert isinstance(images, Images)
    assert (images.height, images.width) == (8, 8)
    assert list(images.rows) == ["3 over 2", "8 over 0"]
    gem = GEM(top=4).fit(X, y)
    for (numerator, denominator), pictures in zip(PAIRS, images.rows.values(), strict=True):
        mine = (gem.pairs_ == (int(numerator), int(denominator))).all(axis=1)
        V = gem.detectors_[:, mine][:, :3].T
        assert_allclose(pictures, V, atol=0.006 * np.abs(V).max())
    assert outcome.dimension == 90 * 4


def test_boxes_are_of_the_training_rows_on_the_first_detector(outcome, digits):
    X, _, y, _ = digits
    images, boxes = outcome.exhibits
    assert isinstance(boxes, Boxes)
    responses = X @ images.rows["3 over 2"][0]
    for name, box in boxes.groups.items():
        expected = np.percentile(responses[y == int(name)], (5, 25, 50, 75, 95))
        assert_allclose(box, expected, atol=0.01 * np.abs(responses).max())
    assert "3 over 2" in boxes.title


def test_ratios_are_those_of_mean_squares_in_either_part(outcome, digits):
    X, V, y, v = digits
    images, _ = outcome.exhibits
    for part, rows, labels in (("train", X, y), ("test", V, v)):
        logs = []
        for (numerator, denominator), pictures in zip(PAIRS, images.rows.values(), strict=True):
            squares = (rows @ np.transpose(pictures)) ** 2
            of = {name: squares[labels == int(name)].mean(axis=0) for name in (numerator, denominator)}
            logs.append(np.log(of[numerator] / of[denominator]))
        assert outcome.metrics[f"{part}_response_ratio"] == pytest.approx(np.exp(np.mean(logs)), rel=0.02)
    assert 1 < outcome.metrics["test_response_ratio"] < outcome.metrics["train_response_ratio"]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"pairs": [("3", "x")]}, "no class is named 'x'"),
        ({"image": (8, 9)}, "no images of 8 x 9"),
        ({"pairs": [("1", "7"), ("7", "1")]}, "no detector of 7 over 1"),
    ],
)
def test_what_cannot_be_shown_is_an_error(make_trial, digits, settings, word):
    X, _, y, _ = digits
    gem = GEM(top=4).fit(X, y)
    largest = [gem.eigenvalues_[(gem.pairs_ == pair).all(axis=1)].max() for pair in ((1, 7), (7, 1))]
    assert largest[1] < largest[0]
    settings = DetectorsSettings(**{"pairs": PAIRS, "image": (8, 8)} | settings)
    trial = make_trial(settings, *digits)(FOUR)
    build = trial.build
    object.__setattr__(trial, "build", lambda: build(theta=np.mean(largest)))
    with pytest.raises(ValueError, match=word):
        measure(trial)


def test_a_method_without_detectors_is_an_error(make_trial, digits):
    trial = make_trial(DetectorsSettings(pairs=PAIRS, image=(8, 8)), *digits)(PCA)
    with pytest.raises(ValueError, match=r"PCA.*detectors_"):
        measure(trial)


def test_a_step_before_the_method_is_an_error(make_trial, digits):
    trial = make_trial(DetectorsSettings(pairs=PAIRS, image=(8, 8)), *digits)(FOUR, StandardScaler())
    with pytest.raises(ValueError, match="give the method one step"):
        measure(trial)
