import bz2
import os
import pickle

import numpy as np
import pytest
from damage import assert_refused, read_bytes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenbench.datasets.readers.pickled_arrays import read_pickled_arrays, unpickle_arrays


def python2_array(array):
    """The text-protocol instructions by which Python 2 pickles an array, without the pickle's memo."""
    kind, order = array.dtype.str[1:], array.dtype.str[0]
    shape = "".join(f"I{size}\n" for size in array.shape)
    fortran = "01" if array.flags.f_contiguous and not array.flags.c_contiguous else "00"
    data = repr(array.tobytes(order="A"))[1:]
    return (
        "cnumpy.core.multiarray\n_reconstruct\np2\n(cnumpy\nndarray\np3\n(I0\ntp4\nS'b'\np5\ntp6\nRp7\n"
        f"(I1\n({shape}tp8\ncnumpy\ndtype\np9\n(S'{kind}'\nI0\nI1\ntp11\nRp12\n"
        f"(I3\nS'{order}'\nNNNI-1\nI-1\nI0\ntp13\nbI{fortran}\nS{data}\np14\ntp15\nb"
    ).encode("latin-1")


def python2_pickle(**arrays):
    items = b"".join(
        b"S'%s'\np1\n%ss" % (key.encode(), python2_array(value)) for key, value in arrays.items()
    )
    return b"(dp0\n" + items + b"."


ARRAYS = hnp.arrays(
    st.sampled_from([np.dtype(code) for code in ("<i8", "<f8", ">i4", "|u1", "<f4")]),
    hnp.array_shapes(min_dims=1, max_dims=3, max_side=4),
    elements={"allow_nan": False},
)


@given(ARRAYS, st.booleans())
def test_round_trip(array, fortran):
    array = np.asfortranarray(array) if fortran else array
    result = read_bytes(unpickle_arrays, bz2.compress(python2_pickle(X=array)))
    assert set(result) == {"X"}
    assert result["X"].dtype == array.dtype
    np.testing.assert_array_equal(result["X"], array)


@pytest.mark.parametrize("kind", ["f8", "i8"])
def test_flags_of_a_type_are_not_taken(kind):
    """With flags 1 NumPy's own type would take bytes of the file for pointers."""
    pickled = python2_pickle(X=np.arange(4).reshape(2, 2).astype(kind)).replace(
        b"NNNI-1\nI-1\nI0\n", b"NNNI-1\nI-1\nI1\n"
    )
    result = read_bytes(unpickle_arrays, bz2.compress(pickled))
    np.testing.assert_array_equal(result["X"], [[0, 1], [2, 3]])


@pytest.mark.parametrize("protocol", range(6))
def test_no_pickle_runs_code(protocol, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made by a pickle"),)

    data = pickle.dumps({"X": Evil()}, protocol=protocol)
    assert_refused("is not allowed", read_pickled_arrays, bz2.compress(data))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"(dp0\nS'X'\np1\ncos\nsystem\n.", "the name 'os system' is not allowed"),
        (python2_pickle(X=np.eye(2)), r"keys \['X'\], expected X and y"),
        (python2_pickle(X=np.eye(2), y=np.eye(3)), "don't fit together"),
        (python2_pickle(X=np.eye(2), y=2 * np.eye(2)), "2.0 is not 0 or 1"),
        (python2_pickle(X=np.eye(2)).replace(b"S'f8'", b"S'O8'"), "element type 'O8' is not allowed"),
        (python2_pickle(X=np.eye(2)).replace(b"I2\nI2\n", b"I2\nI99999999999\n"), "pickle: "),
        (python2_pickle(X=np.eye(2))[:-40], "truncated"),
        (b"(dp0\nS'X'\nI5\ns.", "not a dict of arrays"),
    ],
)
def test_the_fault_is_named(data, message):
    assert_refused(message, read_pickled_arrays, bz2.compress(data))


def test_other_content_than_bzip2_is_refused():
    assert_refused("file, pickle: OSError", read_pickled_arrays, b"not bzip2")


def test_rows_of_several_files_follow_each_other():
    parts = [
        (np.ones((2, 3)), np.eye(2)),
        (np.zeros((1, 3)), np.ones((1, 2))),
        (np.ones((1, 2)), np.ones((1, 2))),
    ]
    files = [bz2.compress(python2_pickle(X=features, y=labels)) for features, labels in parts]
    rows = read_bytes(read_pickled_arrays, *files[:2])
    np.testing.assert_array_equal(rows.features, [[1] * 3, [1] * 3, [0] * 3])
    assert rows.features.dtype == np.float32
    np.testing.assert_array_equal(rows.labels.toarray(), [[1, 0], [0, 1], [1, 1]])
    assert_refused(r"file3.*\(2, 2\) features and labels, others \(3, 2\)", read_pickled_arrays, *files)
