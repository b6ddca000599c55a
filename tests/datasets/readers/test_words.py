import pickle
from functools import partial

import numpy as np
import pytest
from damage import damaged, read_bytes, reads_or_complains
from hypothesis import given

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers.words import read_words

READ = partial(read_words, n_values=40)


def text(data: bytes) -> bytes:
    if len(data) < 256:
        return b"U" + bytes([len(data)]) + data
    return b"T" + len(data).to_bytes(4, "little") + data


def python2_array(array: np.ndarray, memo: bytes = b"\x01") -> bytes:
    """The binary instructions by which Python 2 pickles an array, without the memo of its names."""
    order, code = array.dtype.str[0].encode(), array.dtype.str[1:].encode()
    shape = b"".join(b"M" + size.to_bytes(2, "little") for size in array.shape)
    shape += {1: b"\x85", 2: b"\x86"}[array.ndim]
    dtype = b"cnumpy\ndtype\n" + text(code) + b"K\x00K\x01\x87R(K\x03" + text(order)
    return b"".join(
        [
            b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87Rq"
            + memo
            + b"(K\x01",
            shape,
            dtype + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89",
            text(array.tobytes()) + b"tb",
        ]
    )


def python2_pickle(**lists: list[np.ndarray]) -> bytes:
    items = b"".join(
        text(key.encode()) + b"]r\x00\x01\x00\x00(" + b"".join(map(python2_array, arrays)) + b"e"
        for key, arrays in lists.items()
    )
    return b"\x80\x02}q\x00(" + items + b"u."


IMAGES = [np.arange(8, dtype=np.uint8).reshape(2, 4) % 2, np.ones((1, 4), dtype=np.uint8)]
LABELS = [np.array([2, 0]), np.array([25])]
VALID = python2_pickle(data=IMAGES, labels=LABELS)


def test_the_test_data_is_what_python_understands():
    loaded = pickle.loads(VALID, encoding="bytes")
    np.testing.assert_array_equal(loaded[b"data"][0], IMAGES[0])
    np.testing.assert_array_equal(loaded[b"labels"][1], LABELS[1])


def test_letters_of_all_words_follow_each_other():
    rows = read_bytes(READ, VALID)
    np.testing.assert_array_equal(rows.features, np.concatenate(IMAGES))
    assert rows.features.dtype == np.uint8
    assert rows.labels.tolist() == ["c", "a", "z"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (VALID.replace(b"cnumpy\nndarray", b"cposix\nsystem"), "the name b'posix system' is not allowed"),
        (VALID.replace(b"\x80\x02", b"\x80\x03"), "protocol 3 is not allowed"),
        (VALID[:-9], "ends"),
        (python2_pickle(data=IMAGES), "'labels' is not a list of arrays"),
        (python2_pickle(data=[], labels=[]), "'data' is not a list of arrays"),
        (python2_pickle(data=IMAGES, labels=LABELS[:1]), "2 words and 1 with labels"),
        (python2_pickle(data=IMAGES, labels=LABELS[::-1]), r"word 0: images of shape \(2, 4\)"),
        (python2_pickle(data=IMAGES, labels=[LABELS[0], np.array([26])]), "word 1: labels from 26 to 26"),
        (python2_pickle(data=IMAGES * 3, labels=LABELS * 3), "more than the 40 values"),
    ],
)
def test_the_fault_is_named(data, message):
    with pytest.raises(MalformedData, match=message):
        read_bytes(READ, data)


def test_an_array_named_many_times_is_not_copied_before_it_is_counted():
    lists = {b"data": (IMAGES[0], b"\x01"), b"labels": (LABELS[0], b"\x02")}
    items = b"".join(
        text(key) + b"](" + python2_array(array, memo) + (b"h" + memo) * 10_000 + b"e"
        for key, (array, memo) in lists.items()
    )
    with pytest.raises(MalformedData, match="more than the 40 values"):
        read_bytes(READ, b"\x80\x02}(" + items + b"u.")


@given(damaged(VALID))
def test_damage_ends_in_malformed_data(data):
    reads_or_complains(READ, data)
