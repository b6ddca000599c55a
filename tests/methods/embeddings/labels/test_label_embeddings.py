"""Rembrandt, PLST and CompressedSensing against dense linear algebra, and with data that hurt."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning

from eigenbench import PLST, ClassMoments, CompressedSensing, Rembrandt
from eigenbench.methods.embeddings.labels.spectral_label_embedding import label_matrix

K = 4


def text_like(n=600, d=80, c=30, *, multilabel=False, seed=0):
    """Return sparse counts whose columns have power-law frequencies, with labels from a few topics."""
    rng = np.random.RandomState(seed)
    topics = rng.gamma(0.3, size=(6, d)) / np.arange(1, d + 1)
    topic = rng.randint(6, size=n)
    X = sparse.csr_array(rng.poisson(20 * topics[topic] / topics.sum(axis=1)[topic, None]).astype(float))
    y = topic * (c // 6) + np.minimum(rng.geometric(0.4, size=n) - 1, c // 6 - 1)
    if not multilabel:
        return X, y
    Y = np.zeros((n, c), dtype=np.int64)
    Y[np.arange(n), y] = 1
    Y[rng.rand(n, c) < 0.05] = 1
    return X, Y


@pytest.fixture(scope="module")
def vectors():
    """Inputs, and targets of seven real numbers of which three combinations depend on the inputs."""
    rng = np.random.RandomState(0)
    X = rng.randn(300, 9)
    return X, X @ rng.randn(9, 3) @ rng.randn(3, 7) + 0.3 * rng.randn(300, 7) + 5


def indicators(y):
    return label_matrix(np.asarray(y), np.float64)[0].toarray()


def largest_angle(A, B):
    return linalg.subspace_angles(A, B)[0]


def dense_problem(X, Y, ridge, *, centre=True):
    """Return centred X and Y, and the absolute penalty."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    Y = np.asarray(Y, dtype=float)
    if centre:
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return X, Y, ridge * (X**2).sum(axis=0).mean()


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_embedding_is_the_exact_svd_of_the_prediction(multilabel, fit_intercept, solver):
    X, y = text_like(multilabel=multilabel)
    model = Rembrandt(
        K, ridge=0, n_iter=12, fit_intercept=fit_intercept, solver=solver, cg_tol=1e-8, cg_max_iter=1000
    ).fit(X, y)
    Xd, Y, _ = dense_problem(X, y if multilabel else indicators(y), 0, centre=fit_intercept)
    _, values, V = np.linalg.svd(Xd @ np.linalg.pinv(Xd) @ Y)
    assert largest_angle(model.embedding_, V[:K].T) < 0.01
    assert_allclose(model.singular_values_, values[:K], rtol=1e-3)
    assert_allclose(model.embedding_.T @ model.embedding_, np.eye(K), atol=1e-10)


def test_few_power_iterations_find_a_spectrum_that_decays():
    rng = np.random.RandomState(0)
    X = rng.randn(500, 60)
    scores = X[:, :8] * 3.0 ** -np.arange(8)
    Y = (scores @ rng.randn(8, 40) + 0.01 * rng.randn(500, 40) > 1).astype(int)
    exact = Rembrandt(3, n_iter=30, ridge=1e-3).fit(X, Y)
    quick = Rembrandt(3, n_iter=2, ridge=1e-3, random_state=0).fit(X, Y)
    assert largest_angle(exact.embedding_, quick.embedding_) < 0.01
    assert_allclose(quick.singular_values_, exact.singular_values_, rtol=1e-4)
    start = Rembrandt(3, n_iter=0, oversampling=0, ridge=1e-3, random_state=0).fit(X, Y)
    assert largest_angle(exact.embedding_, start.embedding_) > 0.1
    assert np.all(start.singular_values_ <= exact.singular_values_ * (1 + 1e-9))


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_conjugate_gradients_equal_cholesky(ridge, dtype):
    X, y = text_like(n=900, d=120)
    X = X.astype(dtype)
    options = {"ridge": ridge, "n_iter": 3, "random_state": 0}
    cholesky = Rembrandt(K, solver="cholesky", **options).fit(X, y)
    cg = Rembrandt(K, solver="cg", cg_tol=1e-5, **options).fit(X, y)
    assert largest_angle(cholesky.embedding_.astype(float), cg.embedding_.astype(float)) < 0.01
    assert cg.embedding_.dtype == cg.coef_.dtype == dtype
    assert_allclose(cg.penalty_, cholesky.penalty_, rtol=1e-4)
    assert 0 < cg.cg_iterations_ < 100
    assert cholesky.cg_iterations_ == 0
    assert_allclose(np.abs(cg.transform(X)), np.abs(cholesky.transform(X)), atol=2e-3)


@pytest.mark.parametrize("estimator", [Rembrandt, PLST, CompressedSensing])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_moments_are_as_good_as_rows(estimator, fit_intercept):
    X, y = text_like()
    options = {"ridge": 0.1, "fit_intercept": fit_intercept, "random_state": 0}
    rows = estimator(K, **options).fit(X, y)
    moments = estimator(K, **options).fit_moments(ClassMoments.of(X, y))
    assert_allclose(moments.embedding_, rows.embedding_, atol=1e-8)
    assert_allclose(moments.transform(X), rows.transform(X), atol=1e-8)
    assert_allclose(moments.penalty_, rows.penalty_)
    assert_array_equal(moments.classes_, rows.classes_)


@pytest.mark.parametrize("estimator", [Rembrandt, PLST, CompressedSensing])
def test_class_labels_and_every_form_of_indicators_give_the_same(estimator):
    X, y = text_like()
    Y = indicators(y)
    forms = [Y.astype(np.uint8), Y.astype(bool)]
    forms += [sparse.csr_array(Y), sparse.csc_matrix(Y), sparse.coo_array(Y)]
    expected = estimator(K, random_state=0).fit(X, y)
    for form in forms:
        model = estimator(K, random_state=0).fit(X, form)
        assert_allclose(model.embedding_, expected.embedding_, atol=1e-12)
        assert_array_equal(model.classes_, np.arange(Y.shape[1]))


def test_explicit_zeros_are_no_labels():
    X, Y = text_like(multilabel=True)
    stored = sparse.csr_array(Y)
    stored.data[::3] = 0
    a, b = (PLST(K, random_state=0).fit(X, form).embedding_ for form in (stored, stored.toarray()))
    assert_allclose(a, b)
    assert (stored.data == 0).any()


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("targets", ["labels", "real"])
def test_plst_holds_the_eigenvectors_of_the_label_covariance(vectors, targets, fit_intercept):
    X, Y = text_like(multilabel=True) if targets == "labels" else vectors
    model = PLST(K, n_iter=20, fit_intercept=fit_intercept).fit(X, Y)
    _, Yc, _ = dense_problem(X, Y, 0, centre=fit_intercept)
    values, vectors = np.linalg.eigh(Yc.T @ Yc)
    assert_allclose(model.singular_values_**2, values[::-1][:K])
    assert largest_angle(model.embedding_, vectors[:, ::-1][:, :K]) < 1e-6


@pytest.mark.parametrize("estimator", [Rembrandt, PLST, CompressedSensing])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_transform_is_ridge_regression_on_the_embedded_labels(estimator, fit_intercept):
    X, Y = text_like(multilabel=True)
    model = estimator(K, ridge=0.3, fit_intercept=fit_intercept).fit(X, Y)
    Xc, _, penalty = dense_problem(X, Y, 0.3, centre=fit_intercept)
    target = Y @ model.embedding_
    centred = target - target.mean(axis=0) if fit_intercept else target
    W = np.linalg.solve(Xc.T @ Xc + penalty * np.eye(X.shape[1]), Xc.T @ centred)
    expected = Xc @ W + (target.mean(axis=0) if fit_intercept else 0)
    assert_allclose(model.penalty_, penalty)
    assert_allclose(model.transform(X), expected, atol=1e-9)


def test_compressed_sensing_is_gaussian_and_blind():
    X, y = text_like(c=120)
    R = CompressedSensing(50, random_state=3).fit(X, y).embedding_
    assert_allclose((R**2).sum(axis=1).mean(), 1, rtol=0.05)
    assert_array_equal(R, CompressedSensing(50, random_state=3).fit(X[:, ::-1], y[::-1].copy()).embedding_)


def test_threads_and_row_blocks_only_round_differently(monkeypatch):
    X, y = text_like()
    options = {"solver": "cg", "cg_tol": 1e-8, "cg_max_iter": 500, "random_state": 0}
    one = Rembrandt(K, **options).fit(X, y)
    monkeypatch.setattr("eigenbench.methods.linalg.row_blocks.BLOCK_BYTES", 1)
    monkeypatch.setattr("eigenbench.methods.linalg.row_products.COLUMNS_AT_ONCE", 3)
    monkeypatch.setattr(
        "eigenbench.methods.linalg.row_products.row_slices", lambda n, _: [slice(0, 7), slice(7, n)]
    )
    many = Rembrandt(K, n_jobs=3, **options).fit(X, y)
    assert_allclose(many.embedding_, one.embedding_, atol=1e-6)


def test_memory_mapped_rows_are_not_copied(tmp_path):
    n, d, c, k = 20_000, 500, 50, 3
    rng = np.random.RandomState(0)
    arrays = {
        "data": rng.rand(n * 40).astype(np.float32),
        "indices": np.sort(rng.randint(d // 40, size=(n, 40)) + np.arange(40) * (d // 40), axis=1).ravel(),
        "indptr": np.arange(n + 1) * 40,
    }
    mapped = []
    for name, array in arrays.items():
        array = array if name == "data" else array.astype(np.int32)
        np.save(tmp_path / f"{name}.npy", array)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    X = sparse.csr_array(tuple(mapped), shape=(n, d), copy=False)
    y = rng.randint(c, size=n)
    tracemalloc.start()
    try:
        Rembrandt(k, oversampling=2, solver="cg", ridge=1.0).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    copy = X.data.nbytes + X.indices.nbytes
    dense = 4 * n * d
    # The finiteness checks and the squares of the columns are made in bounded pieces of float64.
    assert peak < 6 * copy < dense * 2


def test_labels_without_rows_and_rows_without_labels_or_features():
    X, Y = text_like(multilabel=True)
    X, Y = X.toarray(), Y.copy()
    Y[:, 3] = 0
    Y[5] = 0
    X[7] = 0
    for solver in ("cholesky", "cg"):
        model = Rembrandt(K, solver=solver, random_state=0).fit(sparse.csr_array(X), Y)
        assert_allclose(model.embedding_[3], 0, atol=1e-12)
        assert np.isfinite(model.embedding_).all()
        assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_no_labels_at_all_and_constant_features(solver):
    X, Y = text_like(multilabel=True)
    nothing = Rembrandt(K, solver=solver, random_state=0).fit(X, np.zeros_like(Y))
    assert_allclose(nothing.singular_values_, 0, atol=1e-12)
    assert_allclose(nothing.transform(X), 0, atol=1e-12)
    constant = Rembrandt(K, solver=solver, random_state=0).fit(np.ones((len(Y), 3)), Y)
    assert_allclose(constant.singular_values_, 0, atol=1e-6)
    assert_allclose(constant.transform(np.ones((1, 3))), [Y.mean(axis=0) @ constant.embedding_], atol=1e-6)


def test_components_beyond_the_rank_predict_nothing():
    X, y = text_like(d=80, c=30)
    model = Rembrandt(10, ridge=0.1, random_state=0).fit(X[:, :3], y)
    assert_allclose(model.singular_values_[3:], 0, atol=1e-6)
    assert np.all(model.singular_values_[:3] > 0.1)
    assert_allclose(model.embedding_.T @ model.embedding_, np.eye(10), atol=1e-9)
    outputs = model.transform(X[:, :3])[:, 3:]
    assert_allclose(outputs, np.broadcast_to(outputs[0], outputs.shape), atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_real_valued_targets_are_regressed_at_the_best_rank(vectors, solver, fit_intercept):
    """Least squares of rank three, by dense decompositions."""
    X, Y = vectors
    Xc, Yc, _ = dense_problem(X, Y, 0, centre=fit_intercept)
    full = np.linalg.lstsq(Xc, Yc, rcond=None)[0]
    V = np.linalg.svd(Xc @ full)[2][:3].T
    options = {"ridge": 0, "solver": solver, "cg_tol": 1e-10, "fit_intercept": fit_intercept}
    found = Rembrandt(3, random_state=0, **options).fit(X, Y)
    assert_allclose(found.embedding_ @ found.embedding_.T, V @ V.T, atol=1e-7)
    predicted = (Xc @ full + Y.mean(axis=0) * fit_intercept) @ V @ V.T
    assert_allclose(found.transform(X) @ found.embedding_.T, predicted, atol=1e-6)
    assert_allclose(found.singular_values_, np.linalg.svd(Xc @ full @ V)[1])


def test_sparse_and_single_precision_targets_give_the_same(vectors):
    X, Y = vectors
    dense = Rembrandt(3, random_state=0).fit(X, Y)
    from_sparse = Rembrandt(3, random_state=0).fit(X, sparse.csr_array(Y))
    assert_allclose(from_sparse.transform(X), dense.transform(X))
    shifted = Rembrandt(3, random_state=0).fit(X.astype(np.float32), (Y + 1e4).astype(np.float32))
    assert_allclose(np.abs(np.sum(shifted.embedding_ * dense.embedding_, axis=0)), 1, atol=1e-5)


@pytest.mark.parametrize("kind", [Rembrandt, PLST, CompressedSensing])
def test_more_components_than_labels_are_cut_with_a_warning(kind):
    X, y = text_like()
    with pytest.warns(UserWarning, match=f"{kind.__name__} keeps 30 of n_components=50.*to 30 or less"):
        capped = kind(random_state=0).fit(X, y)
    exact = kind(30, random_state=0).fit(X, y)
    assert_allclose(capped.transform(X), exact.transform(X))
    assert capped.embedding_.shape == (30, 30)
    assert len(capped.get_feature_names_out()) == 30


def test_bad_input_is_named():
    X, y = text_like()
    with pytest.raises(ValueError, match="continuous"):
        Rembrandt(K).fit(X, np.linspace(0, 1, len(y)))
    with pytest.raises(ValueError, match="works on rows"):
        Rembrandt(K, solver="cg").fit_moments(ClassMoments.of(X, y))


def test_too_few_iterations_are_reported():
    X, y = text_like()
    with pytest.warns(ConvergenceWarning, match=r"stopped after cg_max_iter=1 .* raise cg_max_iter"):
        Rembrandt(K, solver="cg", cg_max_iter=1, ridge=1e-6).fit(X, y)
