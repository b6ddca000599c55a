"""What a record is called in MLflow."""

from __future__ import annotations

from eigenbench.experiments.record import read_record
from eigenbench.tracking.runs import run_name


def test_a_run_is_named_after_what_it_trained(results):
    assert run_name(read_record(results.record(3))) == "digits/gem/LogisticRegression/3"


def test_a_run_that_trained_nothing_names_no_classifier(results):
    assert run_name(read_record(results.record(3, classifier="none", model=None))) == "digits/gem/3"
