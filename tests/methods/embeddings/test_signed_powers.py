"""SignedPowers against its formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import eigenbench.methods.embeddings.signed_powers as module
from eigenbench import SignedPowers

POWERS = st.lists(st.sampled_from([0.3, 0.5, 1, 1.5, 2, 2.5, 3.0]), min_size=1, max_size=4)


def formula(Z, powers, offset):
    columns = []
    for sign in (1, -1):
        positive = np.maximum(0, sign * Z.astype(float))
        columns += [(np.sqrt(offset + positive) - np.sqrt(offset)) ** (2 * p) for p in powers]
    return np.hstack(columns)


@given(
    arrays(np.float64, (5, 3), elements=st.floats(-100, 100, allow_subnormal=False)),
    POWERS,
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_matches_the_formula_dense_and_sparse(Z, powers, offset):
    expand = SignedPowers(powers, offset)
    out = expand.fit_transform(Z)
    assert_allclose(out, formula(Z, powers, offset), rtol=1e-9, atol=1e-12)
    from_sparse = expand.fit_transform(sparse.csr_matrix(Z))
    assert sparse.issparse(from_sparse)
    assert_allclose(from_sparse.toarray(), out, rtol=1e-12, atol=1e-14)


def test_default_is_the_power_of_each_sign():
    assert_allclose(SignedPowers().fit_transform([[4.0, -9.0]]), [[2, 0, 4, 0, 8, 0, 0, 3, 0, 9, 0, 27]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_type_is_kept_and_chunks_agree(dtype, monkeypatch):
    Z = np.random.RandomState(0).randn(50, 4).astype(dtype)
    whole = SignedPowers().fit_transform(Z)
    assert whole.dtype == dtype
    monkeypatch.setattr(module, "_CHUNK_BYTES", 1)
    assert_array_equal(SignedPowers().fit_transform(Z), whole)


def test_sparsity_is_kept():
    Z = sparse.random(200, 50, density=0.02, random_state=0, format="csr", dtype=np.float32)
    Z.data -= 0.5
    out = SignedPowers().fit_transform(Z)
    assert out.dtype == np.float32
    assert out.nnz == 3 * Z.nnz


def test_names_follow_the_columns():
    names = SignedPowers((0.5, 1)).fit([[1.0, 2.0]]).get_feature_names_out(["a", "b"])
    assert names.tolist() == [f"{f}_{s}_{p}" for s in ("pos", "neg") for p in ("0.5", "1") for f in "ab"]


@pytest.mark.parametrize("powers", [(), (0.5, -1), (np.inf,), ((1, 2),)])
def test_bad_powers_are_refused(powers):
    with pytest.raises(ValueError, match="powers"):
        SignedPowers(powers).fit([[1.0]])
