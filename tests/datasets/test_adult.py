import pytest

from eigenbench.datasets import MalformedData
from eigenbench.datasets.adult import adult_to_a9a

RECORD = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, <=50K"
)
A9A = b"-1 3:1 11:1 14:1 19:1 39:1 42:1 55:1 64:1 67:1 73:1 75:1 76:1 80:1 83:1 \n"
"""The first records of UCI's adult.data and of LIBSVM's a9a."""


def test_the_first_published_record():
    assert adult_to_a9a(RECORD.encode()) == A9A


def test_the_test_file_has_a_comment_and_full_stops():
    text = f"|1x3 Cross validator\n{RECORD}.\n\n{RECORD.replace('<=', '>')}.\n"
    assert adult_to_a9a(text.encode()) == A9A + A9A.replace(b"-1", b"+1")


def test_a_missing_value_sets_no_feature():
    assert adult_to_a9a(RECORD.replace("State-gov", "?").encode()) == A9A.replace(b"11:1 ", b"")


def test_a_value_belongs_to_the_bin_whose_upper_edge_it_equals():
    assert b" 1:1 " in adult_to_a9a(RECORD.replace("39,", "25,", 1).encode())
    assert b" 2:1 " in adult_to_a9a(RECORD.replace("39,", "26,", 1).encode())


@pytest.mark.parametrize(("old", "new"), [("White", "Wite"), ("77516", "many"), ("<=50K", "50K")])
def test_an_unknown_value_is_named_with_its_line(old, new):
    with pytest.raises(MalformedData, match=rf"line 2: unknown value \(.*{new}"):
        adult_to_a9a(f"{RECORD}\n{RECORD.replace(old, new)}".encode())
