"""A small table of errors over datasets."""

import numpy as np
import pandas as pd


def table(n_datasets=8, n_methods=4, seed=0, spread=0.02):
    """Errors of methods that get worse from column to column."""
    generator = np.random.default_rng(seed)
    errors = 0.2 + spread * generator.standard_normal((n_datasets, n_methods)) + 0.01 * np.arange(n_methods)
    return pd.DataFrame(errors, [f"data{i}" for i in range(n_datasets)], [f"m{j}" for j in range(n_methods)])
