"""Small prepared data under the names of catalogue entries, and the jobs that work on them."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

sys.path.insert(0, str(Path(__file__).parent))  # where the tests find small_jobs

from small_jobs import Jobs, write_prepared


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """``digits``, split by the seed; ``mnist``, with an official split; ``bibtex``, with six labels."""
    folder = tmp_path_factory.mktemp("data")
    X, y = load_digits(n_class=4, return_X_y=True)
    X = (X[:360] / 16).astype(np.float32)
    write_prepared(folder, "digits", {"X_all": X, "y_all": y[:360]})
    halves = {"train": slice(0, 240), "test": slice(240, 360)}
    write_prepared(
        folder,
        "mnist",
        {f"{letter}_{part}": M[rows] for letter, M in (("X", X), ("y", y)) for part, rows in halves.items()},
    )
    write_prepared(folder, "bibtex", _labels_of_latent_inputs())
    return folder


def _labels_of_latent_inputs():
    """Rows of six labels, four of which depend on the inputs."""
    generator = np.random.default_rng(0)
    blocks = {}
    for part, n_rows in (("train", 400), ("test", 200)):
        X = generator.normal(size=(n_rows, 4))
        latent = X @ np.eye(4, 6) + 0.7 * generator.normal(size=(n_rows, 6)) - 1
        blocks |= {f"X_{part}": X.astype(np.float32), f"y_{part}": csr_array((latent > 0).astype(np.uint8))}
    return blocks


@pytest.fixture
def jobs(prepared, tmp_path):
    """Jobs that read the small data and write into a folder of the test's own."""
    return Jobs(prepared, tmp_path)
