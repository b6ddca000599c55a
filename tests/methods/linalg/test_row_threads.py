"""Threads over shares of rows: their number, their settings, and what they leave changed."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController, threadpool_limits

from eigenbench.methods.linalg.row_blocks import RowThreads, row_threads


def blas_threads():
    return {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_there_are_as_many_as_blas_may_have(n_threads):
    with threadpool_limits(n_threads, user_api="blas"), row_threads() as threads:
        assert threads.n_threads == n_threads
        meeting = threading.Barrier(n_threads, timeout=60)

        def meet(number):
            meeting.wait()
            return number**2, blas_threads()

        assert list(threads.map(meet, range(2 * n_threads))) == [(i**2, {1}) for i in range(2 * n_threads)]


def test_blas_has_its_threads_back_after_an_error():
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ValueError, match="row 3"), row_threads() as threads:
            list(threads.map(fail, range(5)))
        assert blas_threads() == {2}


def fail(row):
    if row == 3:
        raise ValueError(f"row {row}")


def test_threads_have_the_settings_of_scikit_learn():
    with threadpool_limits(2, user_api="blas"), config_context(assume_finite=True), row_threads() as threads:
        assert all(threads.map(lambda _: get_config()["assume_finite"], range(4)))


@pytest.mark.parametrize(("n", "lengths"), [(0, []), (9, [9]), (20, [10, 10]), (65, [22, 22, 21])])
def test_shares_cover_the_rows_and_are_not_small(n, lengths):
    shares = RowThreads(3, map).shares(np.arange(n), 10)
    assert [len(share) for share in shares] == lengths
    assert_array_equal(np.concatenate([*shares, []]), np.arange(n))
