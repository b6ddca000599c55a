"""Simulated results whose truth is known: learners on drawn data, rows of unequal difficulty, tables."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm

from eigenbench.comparison.row_metric import RowMetric

SEED = 19
N_ROWS, N_TRAIN, N_TEST = 200, 140, 60
SHARED, OWN = 4, 4


def runs_of(wrong, **options):
    """Runs of one method by seed, from the wrong rows of each."""
    return {seed: RowMetric(np.asarray(one)[:, None], **options) for seed, one in enumerate(wrong)}


def nearest_centroid_runs(generator, shifts, n_splits=5):
    """Runs of nearest-centroid learners on two normal classes, over splits of one dataset.

    Learner j sees features that all share and `OWN` of its own; the classes differ by 2 * shifts[j] in each
    of its own. Learners of equal shifts are equally good.
    """
    labels = generator.integers(0, 2, N_ROWS)
    shift = np.concatenate([np.full(SHARED, 0.25), np.repeat(shifts, OWN)])
    features = generator.standard_normal((N_ROWS, len(shift))) + np.outer(2 * labels - 1, shift)
    runs = {f"m{j}": {} for j in range(len(shifts))}
    test_rows = {}
    for split in range(n_splits):
        order = generator.permutation(N_ROWS)
        train, test = order[:N_TRAIN], order[N_TRAIN:]
        test_rows[split] = test
        means = [features[train[labels[train] == label]].mean(axis=0) for label in (0, 1)]
        direction, middle = means[1] - means[0], (means[0] + means[1]) / 2
        scores = (features[test] - middle) * direction
        for j in range(len(shifts)):
            own = scores[:, SHARED + j * OWN : SHARED + (j + 1) * OWN].sum(axis=1)
            total = scores[:, :SHARED].sum(axis=1) + own
            runs[f"m{j}"][split] = (total > 0) != labels[test]
    return runs, test_rows


def nearest_centroid_error(shift, n_draws=20_000, seed=0):
    """Expected error of one of these learners, trained on new rows: a mean of exact errors of models."""
    generator = np.random.default_rng(seed)
    mean = np.concatenate([np.full(SHARED, 0.25), np.full(OWN, shift)])
    n_ones = generator.binomial(N_TRAIN, 0.5, (n_draws, 1))
    ones = mean + generator.standard_normal((n_draws, len(mean))) / np.sqrt(n_ones)
    zeros = -mean + generator.standard_normal((n_draws, len(mean))) / np.sqrt(N_TRAIN - n_ones)
    direction, middle = ones - zeros, (ones + zeros) / 2
    length = np.linalg.norm(direction, axis=1)
    signed = np.einsum("nd,nd->n", direction, middle)
    return np.mean([norm.cdf((sign * signed - direction @ mean) / length) for sign in (1, -1)])


def errors_by_split(runs):
    """Array (methods, splits) of error rates."""
    return np.array([[np.mean(wrong) for wrong in by_split.values()] for by_split in runs.values()])


def difficulties(generator, mean, shape, concentration=1.0):
    """Probabilities of an error, beta-distributed over rows: most rows are easy, some hard."""
    return generator.beta(concentration * mean, concentration * (1 - mean), shape)


def seeds_on_rows(generator, n_seeds, n_rows, seed_deviation, n_methods=1):
    """Errors (methods, seeds, rows) of equally good randomized methods: rows and seeds shift the logit."""
    seeds = seed_deviation * generator.standard_normal((n_methods, n_seeds, 1))
    rows = -4 + 2 * generator.standard_normal(n_rows)
    return generator.random((n_methods, n_seeds, n_rows)) < expit(rows + seeds)


def seeds_on_rows_rate(seed_deviation):
    """Expected error rate of `seeds_on_rows`, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    return np.sum(weights * expit(-4 + np.hypot(2, seed_deviation) * nodes)) / weights.sum()


def table_of_equal_methods(generator, n_datasets, n_methods):
    """Errors of methods that differ by chance only; datasets differ in difficulty and in noise."""
    level, noise = (
        generator.uniform(0.05, 0.4, (n_datasets, 1)),
        generator.uniform(0.005, 0.05, (n_datasets, 1)),
    )
    return level + noise * generator.standard_normal((n_datasets, n_methods))


def table(n_datasets=8, n_methods=4, seed=0, spread=0.02):
    """Errors of methods that get worse from column to column."""
    generator = np.random.default_rng(seed)
    errors = 0.2 + spread * generator.standard_normal((n_datasets, n_methods)) + 0.01 * np.arange(n_methods)
    return pd.DataFrame(errors, [f"data{i}" for i in range(n_datasets)], [f"m{j}" for j in range(n_methods)])


def simulations(n_quick, n_full):
    """Parametrise a study by its number of repetitions; the full one is slow."""
    return pytest.mark.parametrize("n", [n_quick, pytest.param(n_full, marks=pytest.mark.slow)])
