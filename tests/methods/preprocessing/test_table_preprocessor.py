import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from eigenbench import GEM, ClassMoments
from eigenbench.methods.preprocessing.table_preprocessor import TablePreprocessor

NAN = np.nan


def test_what_is_found_in_training_rows_is_all_that_test_rows_get():
    train = np.array([[1.0, 0], [3.0, 0], [NAN, 1], [5.0, 1]])
    test = np.array([[NAN, 7], [1000.0, 0]])
    fitted = TablePreprocessor(categorical=[1]).fit(train)
    rows = fitted.transform(test)
    spread = np.std([1, 3, 3, 5])
    np.testing.assert_allclose(rows[:, 0], [0, (1000 - 3) / spread])
    np.testing.assert_allclose(rows[:, 2:], [[0, 0], [1, 0]])


def test_rare_categories_share_one_indicator_and_missing_ones_have_their_own():
    codes = np.array([0, 0, 0, 1, 1, 1, 2, 3, NAN, NAN, NAN])[:, None]
    fitted = TablePreprocessor(categorical=[0], max_categories=4).fit(codes)
    rows = fitted.transform([[0], [1], [2], [3], [9], [NAN]])
    assert rows.shape == (6, 4)
    np.testing.assert_array_equal(rows[2], rows[3])
    np.testing.assert_array_equal(rows[2], rows[4])
    assert len(np.unique(rows, axis=0)) == 4


def test_columns_that_are_constant_or_empty_in_training_stay_finite():
    X = np.array([[1.0, NAN, 4.0], [1.0, NAN, 5.0]])
    fitted = TablePreprocessor(categorical=[2]).fit(X)
    assert np.isfinite(fitted.transform([[2.0, 3.0, NAN], [NAN, NAN, 4.0]])).all()


def test_sparse_rows_have_indices_that_svc_takes():
    rows = csr_array(np.eye(6, 3))
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    model = make_pipeline(TablePreprocessor(), SVC()).fit(rows, [0, 1] * 3)
    assert len(model.predict(rows)) == 6


def test_sparse_rows_stay_as_they_are():
    X = csr_array(np.diag([1.0, -4.0, 0.0]))
    rows = TablePreprocessor().fit_transform(X)
    assert issparse(rows)
    np.testing.assert_array_equal(rows.toarray(), X.toarray())
    with pytest.raises(ValueError, match="sparse rows"):
        TablePreprocessor(categorical=[0]).fit(X)


@pytest.mark.parametrize("categorical", [[4], [-1]])
def test_a_column_that_is_not_there_is_an_error(categorical):
    with pytest.raises(ValueError, match="not among 4"):
        TablePreprocessor(categorical=categorical).fit(load_iris().data)


def test_names_of_features():
    names = TablePreprocessor(categorical=[1]).fit([[1.0, 0], [NAN, 1]]).get_feature_names_out(["a", "b"])
    assert [name.partition("__")[2] for name in names] == ["a", "missingindicator_a", "b_0.0", "b_1.0"]


def test_moments_of_mapped_rows_may_come_from_rows_with_missing_values():
    X, y = load_iris(return_X_y=True)
    X[::7, 2] = NAN
    first = TablePreprocessor().fit(X)
    moments = ClassMoments.of(X, y, make_pipeline(first))
    direct = GEM().fit(first.transform(X), y)
    np.testing.assert_allclose(GEM().fit_moments(moments).eigenvalues_, direct.eigenvalues_, rtol=1e-6)
    with pytest.raises(ValueError, match="NaN"):
        ClassMoments.of(X, y)
