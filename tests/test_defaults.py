"""Every component of this package does well on ordinary data with its defaults."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.utils import get_tags

from eigenbench.bench.components import MissingExtraError, takes_random_state
from eigenbench.bench.registry import COMPONENTS

pytestmark = pytest.mark.contract


def images():
    """Pixels from 0 to 255 as they are in a file, a frame of them constant, one of the constants not 0."""
    X, y = load_digits(return_X_y=True)
    X = np.pad((X[:300] * 15.9).astype(np.uint8).reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    X[:, 0, 0] = 200
    return X.reshape(len(X), -1), y[:300]


def table():
    """A small table with columns of very different units."""
    return load_wine(return_X_y=True)


def counts():
    """Sparse counts of words: long tails, rows of one class alike."""
    rng = np.random.RandomState(0)
    y = np.arange(150) % 4
    rates = rng.gamma(0.05, 2.0, (4, 120))
    return sparse.csr_matrix(rng.poisson(rates[y])).astype(np.float64), y


def wide():
    """More inputs than rows."""
    X, y = make_blobs(36, 60, centers=3, cluster_std=6.0, random_state=0)
    return X, y


def two_classes():
    X, y = make_blobs(120, 6, centers=2, cluster_std=4.0, random_state=1)
    return X, np.array(["no", "yes"])[y]


def many_classes():
    X, y = make_blobs(420, 5, centers=60, cluster_std=0.7, random_state=2)
    return X, y


#: Classes of metric-learn and umap-learn, and what has no defaults.
FOREIGN = {"LFDA", "NCA", "MMC_Supervised", "UMAP", "BayesRule"}
OURS = [name for name, one in COMPONENTS.items() if one.module.startswith("eigenbench.")]

SETS = {make.__name__: cache(make) for make in (images, table, counts, wide, two_classes, many_classes)}


@pytest.mark.parametrize("data", SETS)
@pytest.mark.parametrize("name", sorted(set(OURS) - FOREIGN))
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_defaults_fit(name, data):
    try:
        cls = COMPONENTS[name].load()
    except MissingExtraError:
        pytest.skip("its package is not installed")
    X, y = SETS[data]()
    model = cls(random_state=1) if takes_random_state(cls) else cls()
    if sparse.issparse(X) and not get_tags(model).input_tags.sparse:
        pytest.skip("takes dense rows")
    if name == "ContractedGEM":
        y = np.unique(y, return_inverse=True)[1]
    model.fit(X, y)
    if is_classifier(model):
        assert np.mean(model.predict(X) == y) > 0.6
        return
    Z = model.transform(X)
    assert Z.shape[0] == X.shape[0]
    assert Z.shape[1] > 0
    assert np.isfinite(Z.sum(axis=0)).all()
