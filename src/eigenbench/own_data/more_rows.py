"""Gain from more rows, and order of the methods with twice as many, by learning curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pandas as pd

from eigenbench.comparison.differences import compare_values
from eigenbench.own_data.table import OwnDataError

#: Errors of one method: folds or seeds x sizes, ascending; NaN where a size was not measured.
Curve: TypeAlias = pd.DataFrame

#: The ratio of errors from which on an advantage matters.
ADVANTAGE = 0.9

#: The methods of a curve, the sizes of its training sets, each twice the one before, and the fewest rows.
METHODS, _SIZES, _FEWEST = 3, 4, 10


def curve_sizes(n_train: int) -> list[int]:
    """Return four sizes of a training set, up to all of its rows; less than ten are an `OwnDataError`."""
    sizes = [n_train // 2**place for place in reversed(range(_SIZES))]
    if sizes[0] < _FEWEST:
        needed = _FEWEST * 2 ** (_SIZES - 1)
        raise OwnDataError(f"--curve needs {needed} training rows, and there are {n_train}: leave it out")
    return sizes


def curve_sentences(curves: Mapping[str, Curve]) -> list[str]:
    """Say what the errors are at each size, whether more rows would help, and which method is then first.

    Curves are errors by method, folds x sizes, up to all training rows; those that lack one at the last two
    sizes are named alone. Differences are paired over folds and have simultaneous 95 % intervals. The order
    with twice the rows rests on errors that fall with the logarithm of the rows as from half of them to all.
    """
    lacking = [name for name, curve in curves.items() if curve.iloc[:, -2:].isna().any(axis=None)]
    whole = {name: curve for name, curve in curves.items() if name not in lacking}
    lines = []
    for name, curve in whole.items():
        means = ", ".join(f"{100 * curve[size].mean():.2f} ({size:,})" for size in curve.dropna(axis=1))
        lines.append(f"Error in % of {name} by training rows: {means}.")
    without = f"No learning curve of {', '.join(lacking)}: too little time, or a fit that failed."
    lines += [*(_gain(name, curve) for name, curve in whole.items()), *_order(whole)]
    return [*lines, without] if lacking else lines


def _gain(name: str, curve: Curve) -> str:
    half, full = curve.columns[-2:]
    compared = compare_values(pd.DataFrame({"half": curve[half], "full": curve[full]}))
    line = compared.table.loc["half" if curve[full].mean() < curve[half].mean() else "full"]
    if pd.isna(line["p_value"]):
        return f"{name}: the folds are too few, or too alike, to say whether more rows would help."
    change = 100 * (curve[full] - curve[half]).mean()
    width = 100 * (line["difference_high"] - line["difference"])
    low, high = change - width, change + width
    seen = f"from {half:,} to {full:,} its error changes by {change:+.2f} points [{low:.2f}, {high:.2f}]"
    if high < 0:
        return f"{name}: more rows would help, {seen}."
    if -low <= 100 * (1 - ADVANTAGE) * curve[full].mean():
        return f"{name}: more rows would hardly help, {seen}."
    return f"{name}: these folds do not say whether more rows would help, {seen}."


def _order(curves: Mapping[str, Curve]) -> list[str]:
    if len(curves) < 2:
        return []
    half, full = next(iter(curves.values())).columns[-2:]
    means = pd.Series({name: curve[full].mean() for name, curve in curves.items()})
    doubled = pd.DataFrame({name: 2 * curve[full] - curve[half] for name, curve in curves.items()})
    compared = compare_values(doubled)
    if compared.refusal:
        return ["Too few folds to say whether the order of these methods is about to change."]
    first, then = means.idxmin(), doubled.mean().idxmin()
    level = [name for name in doubled if name != then and compared.table["tied"].fillna(True)[name]]
    projected = f"with {2 * full:,} training rows, as the last doubling goes on"
    if first == then and not level:
        return [f"The order is not about to change: {then} stays first {projected}."]
    if first != then and first not in level:
        return [f"The order is about to change: {then} is ahead of {first} {projected}."]
    return [f"Which is first {projected}, is open: {', '.join([then, *level])} are not distinguished."]
