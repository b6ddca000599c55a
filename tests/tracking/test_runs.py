"""What a record is called in MLflow."""

from __future__ import annotations

import pytest

from eigenbench.tracking.run_content import run_name


def test_a_run_is_named_after_what_tells_it_apart_in_the_first_18_characters():
    assert run_name("mnist", "gem", "CalibratedLeastSquares", 3) == "gem CLS s3 · mnist"
    assert run_name("satimage", "deep_gem", "LinearSVC") == "deep_gem LSVC · satimage"


def test_a_run_that_trained_nothing_names_no_classifier():
    assert run_name("kernels", "gem", "none", 3) == "gem s3 · kernels"


@pytest.mark.parametrize(
    ("classifier", "short"),
    [("svm", "svm"), ("least_squares", "ls"), ("SecondOrderLogistic", "SOL"), ("LinearSVC", "LSVC")],
)
def test_classifiers_are_known_by_their_initials(classifier, short):
    assert run_name("e", "m", classifier, 0) == f"m {short} s0 · e"
