"""Learning curves of known shape."""

import numpy as np
import pandas as pd
import pytest
from curve_comparisons import crossing, ratio_of_errors, rows_needed, winners

SIZES = [250, 1000, 4000, 16000]


def power_law(level, exponent, noise=0.0, seed=0, n_seeds=8):
    """Errors ``level * n ** -exponent``, with noise that methods of one seed share and noise of their own."""
    generator = np.random.default_rng(seed)
    shared = np.random.default_rng(99).standard_normal((n_seeds, 1))
    own = generator.standard_normal((n_seeds, len(SIZES)))
    logarithms = np.log(level) - exponent * np.log(SIZES) + 5 * noise * shared + noise * own
    return pd.DataFrame(np.exp(logarithms), columns=SIZES)


def test_ratios_are_paired_by_seed():
    ratios = ratio_of_errors(power_law(1, 0.5, 0.02, 1), power_law(2, 0.5, 0.02, 2))
    assert ratios["ratio"].tolist() == pytest.approx([0.5] * 4, rel=0.05)
    assert (ratios["high"] / ratios["low"] < 1.1).all()  # unpaired, the shared noise would give 1.2
    assert (ratios["p_advantage"] > 0.999).all()


def test_intervals_of_ratios_hold_the_truth():
    held = 0
    for seed in range(200):
        line = ratio_of_errors(power_law(1, 0.5, 0.1, 2 * seed), power_law(1.2, 0.5, 0.1, 2 * seed + 1)).iloc[
            0
        ]
        held += line["low"] <= 1 / 1.2 <= line["high"]
    assert 180 <= held <= 198


def test_a_size_with_two_seeds_has_no_ratio():
    curve = power_law(1, 0.5, 0.1)
    short = curve.copy()
    short.loc[2:, 16000] = np.nan
    assert ratio_of_errors(short, curve).index.tolist() == [250, 1000, 4000]


def test_rows_needed_of_power_laws():
    method, rival = power_law(1, 0.5, 0.001, 1), power_law(2, 0.5, 0.001, 2)
    needed = rows_needed(method, rival, 1000)
    assert needed.rows == pytest.approx(4000, rel=0.01)
    assert needed.low <= needed.rows <= needed.high < 4200
    assert rows_needed(rival, method, 250).rows == 250
    assert rows_needed(method, rival, 16000).rows == np.inf


def test_interval_of_rows_needed_widens_with_noise():
    calm, rough = (
        rows_needed(power_law(1, 0.5, noise, 1), power_law(1.5, 0.5, noise, 2), 1000) for noise in (0.01, 0.1)
    )
    assert np.log(rough.high / rough.low) > 5 * np.log(calm.high / calm.low)


def test_curves_that_cross():
    flat, steep = power_law(0.3, 0.1, 0.01, 1), power_law(3, 0.5, 0.01, 2)
    assert crossing(flat, steep) == (250, 1000)
    assert crossing(steep, flat) == (250, 1000)
    assert crossing(flat, flat * 1.3) is None


def test_winners():
    table = winners({"flat": power_law(0.3, 0.1, 0.01, 1), "steep": power_law(3, 0.5, 0.01, 2)})
    assert table["best"].tolist() == ["flat", "steep", "steep", "steep"]
    assert (table["ratio"] < 1).all()
    assert table["tied"].tolist() == [1, 1, 1, 1]


def test_equal_methods_are_tied():
    methods = {f"method {seed}": power_law(1, 0.5, 0.1, seed) for seed in range(6)}
    assert (winners(methods)["tied"] > 1).all()
    few = {name: curve.head(3) for name, curve in methods.items()}
    assert winners(few)["tied"].isna().all()


def test_errors_of_zero_have_a_logarithm():
    curve = power_law(1, 0.5)
    curve.iloc[0, 0] = 0.0
    assert np.isfinite(ratio_of_errors(curve, power_law(2, 0.5)).to_numpy()).all()
