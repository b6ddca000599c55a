"""CRAFT: the wide map, the projection and its limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenbench.methods.embeddings.kernel_features.craft import CRAFT
from eigenbench.methods.embeddings.kernel_features.random_maclaurin import RandomMaclaurin
from eigenbench.methods.embeddings.kernel_features.tensor_sketch import TensorSketch


def unit(n, d):
    X = np.random.default_rng(0).standard_normal((n, d)) + 0.5
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize(("base", "wide"), [("maclaurin", RandomMaclaurin), ("tensor_sketch", TensorSketch)])
def test_without_reduction_the_projection_changes_no_product(base, wide):
    X = unit(6, 5)
    model = CRAFT(3, n_components=64, base=base, up_components=64, random_state=0).fit(X)
    assert isinstance(model.up_, wide)
    F, U = model.transform(X), model.up_.transform(X)
    assert_allclose(F @ F.T, U @ U.T, atol=1e-12)


def test_default_width_is_a_power_of_two_and_four_times_as_wide():
    assert CRAFT(3, n_components=100).fit(unit(3, 4)).up_.n_components == 512
    assert CRAFT(3, n_components=128).fit(unit(3, 4)).up_.n_components == 512


def test_refuses_to_project_up():
    with pytest.raises(ValueError, match="up_components=50 is below n_components=100"):
        CRAFT(3, n_components=100, up_components=50).fit(unit(3, 4))
