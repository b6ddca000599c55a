from functools import partial

import numpy as np
import pytest
from damage import read_bytes

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers.delimited import read_orange_table

NUMBERS = (
    b"a\tname\tb\tkind\ncontinuous\tstring\tc\tdiscrete\n\tmeta\t\tclass\n1.5\tx\t?\tup\n-2\ty\t3e1\t down \n"
)
TEXTS = b"kind\twords\nd\tstring\nclass\t\n\nup\tOne two, two\ndown\t\n"
numbers = partial(read_orange_table, label="kind", text=None, n_features=2)
texts = partial(read_orange_table, label="kind", text="words", n_features=50)


def test_continuous_columns_and_labels():
    rows = read_bytes(numbers, NUMBERS)
    np.testing.assert_array_equal(rows.features, np.array([[1.5, np.nan], [-2, 30]], dtype=np.float32))
    assert rows.features.dtype == np.float32
    assert rows.labels.tolist() == ["up", "down"]


def test_words_are_counted_in_hashed_columns():
    rows = read_bytes(texts, TEXTS)
    assert rows.features.shape == (2, 50)
    assert sorted(rows.features.toarray()[0])[-3:] == [0, 1, 2]
    assert rows.features.toarray()[1].sum() == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"kind\n", b"sort\n", "line 1: 0 columns 'kind', not one"),
        (b"\tdiscrete", b"", "line 2: 3 types for 4 columns"),
        (b"-2\ty", b"-2", "line 5: 3 values for 4 columns"),
        (b" down ", b" ", "line 5: no 'kind'"),
        (b"3e1", b"3u1", "line 5: .*3u1"),
        (b"x\t", b"\xff\t", "byte 60: not UTF-8"),
        (b"1.5\tx\t?\tup\n-2\ty\t3e1\t down \n", b"", "no rows"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(old, new, message):
    with pytest.raises(MalformedData, match=message):
        read_bytes(numbers, NUMBERS.replace(old, new))
