"""Small tables with columns and targets of all kinds, each made of one number."""

import numpy as np
import pandas as pd
from scipy.sparse import random_array

NAMES = (
    *("größe", "價格", "a b", "x,y", 'say "hi"', "0", "target ", "Ünï\u0308", "π²", "_"),
    *("class", "🐟", "n" * 80, "50 %", "a;b"),
)
WORDS = ("red", "blue", "ß", "é 日本", "NA?", "1", "1.0", "a,b", 'say "x"', "it's", "true", "")


def generated(seed, folder):
    """Write a table into a folder; return the path and the target columns, and the name of a group's."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([3, 12, 30, 60, 60, 120, 250]))
    targets = _targets(rng, n)
    kind = rng.choice(["csv", "parquet", "npz", "sparse npz"], p=[0.35, 0.35, 0.15, 0.15])
    if kind.endswith("npz"):
        return _arrays(rng, n, targets, folder / "data.npz", sparse=kind != "npz"), [], None
    frame = pd.concat([_columns(rng, n, targets.iloc[:, 0]), targets], axis=1)
    group = "site" if rng.random() < 0.15 else None
    if group:
        frame[group] = rng.integers(0, max(2, n // 4), n)
    if rng.random() < 0.3:
        frame = frame.iloc[np.sort(rng.integers(0, n, n))].reset_index(drop=True)
    path = folder / f"data.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    return path, [str(name).strip() for name in targets.columns], group


def regular_table(seed, n=60, classes=3):
    """Return a table on which every method can work."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % classes)
    frame = pd.DataFrame(rng.normal(size=(n, 3)) + codes[:, None], columns=["a", "b", "größe"])
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    frame["shop"] = rng.choice(["x", "y", None], n)
    frame["site"] = np.arange(n) // 3
    return frame.assign(kind=[f"class {code}" for code in codes])


def _targets(rng, n):
    """Return one column of classes, or a few of labels, some of them of the kinds that are refused."""
    if rng.random() < 0.15:
        share = rng.choice([0.02, 0.3, 0.9])
        columns = {f"label {i}": (rng.random(n) < share).astype(int) for i in range(rng.integers(2, 6))}
        return pd.DataFrame(columns)
    c = int(rng.choice([1, *[2] * 8, 3, 3, 3, 5, 5, 10, 10, 40, 200]))
    codes = rng.integers(0, c, n)
    if c > n // 3 and rng.random() < 0.7:
        codes = np.arange(n) % max(2, min(c, n // 3))
    if rng.random() < 0.15:
        codes = np.minimum(codes, rng.geometric(0.6, n) - 1)
    makers = {
        "text": lambda: pd.Series([f"class {code}" for code in codes]),
        "number": lambda: pd.Series(codes * 7 - 3),
        "float": lambda: pd.Series(codes.astype(float)),
        "flag": lambda: pd.Series(codes % 2 == 0),
        "unicode": lambda: pd.Series([f"{'äßé日🐟'[code % 5]} {code}" for code in codes]),
        "real": lambda: pd.Series(codes + rng.normal(size=n)),
        "category": lambda: pd.Series(pd.Categorical([f"k{code}" for code in codes])),
    }
    values = makers[str(rng.choice(list(makers), p=_STYLES))]()
    if rng.random() < 0.2:
        values = values.astype(object).where(rng.random(n) > 0.2, None)
    return values.rename("kind").to_frame()


_STYLES = [0.25, 0.2, 0.1, 0.15, 0.15, 0.05, 0.1]


def _columns(rng, n, target):
    """Return columns of many types, with names that a person might give."""
    codes = pd.factorize(target)[0]
    d = int(rng.choice([1, 2, 4, 8, 15, 90]))
    names = list(rng.permutation(NAMES))[:d] + [f"v{i}" for i in range(d - len(NAMES))]
    columns = {}
    for name in names:
        values = _column(rng, n, codes)
        if rng.random() < 0.25:
            values = values.mask(rng.random(n) < rng.choice([0.05, 0.5, 0.97]))
        columns[name] = values
    frame = pd.DataFrame(columns)
    if rng.random() < 0.2:
        frame["copy"] = frame[names[0]]
    return frame


def _column(rng, n, codes):
    day = pd.Timedelta(days=1)
    makers = {
        "number": lambda: pd.Series(rng.normal(size=n) + codes),
        "wide": lambda: pd.Series(rng.normal(size=n) * 10.0 ** rng.integers(-200, 200)),
        "far": lambda: pd.Series(1.7e9 + rng.integers(0, 5, n)),
        "tail": lambda: pd.Series(np.exp(rng.normal(size=n) * 20)),
        "whole": lambda: pd.Series(rng.integers(-5, 5, n)),
        "flag": lambda: pd.Series(rng.random(n) < 0.5),
        "constant": lambda: pd.Series(np.full(n, rng.choice([0.0, 7.0, 1e30]))),
        "absent": lambda: pd.Series(np.full(n, np.nan)),
        "infinite": lambda: pd.Series(np.where(rng.random(n) < 0.3, np.inf, rng.normal(size=n))),
        "word": lambda: pd.Series(rng.choice(WORDS, n)),
        "category": lambda: pd.Series(pd.Categorical(rng.choice(WORDS[:3], n))),
        "many words": lambda: pd.Series([f"word {i}" for i in rng.integers(0, 60, n)]),
        "free text": lambda: pd.Series([f"row number {i} says hello" for i in range(n)]),
        "date": lambda: pd.Timestamp("2024-02-29") + pd.Series(rng.integers(-9000, 9000, n)) * day,
        "span": lambda: pd.Series(rng.integers(0, 9000, n)) * day,
        "nullable": lambda: pd.Series(rng.integers(0, 9, n)).astype("Int64"),
        "mixed": lambda: pd.Series([str(i) if i % 3 else "?" for i in rng.integers(0, 9, n)]),
    }
    return makers[str(rng.choice(list(makers)))]()


def _arrays(rng, n, targets, path, *, sparse):
    """Write rows without names of columns: sparse, or dense of some type."""
    d = int(rng.choice([3, 20, 400]))
    labels = targets.to_numpy() if targets.shape[1] > 1 else targets.iloc[:, 0].to_numpy()
    y = labels.astype(str) if labels.dtype == object else labels
    if sparse:
        X = random_array((n, d), density=rng.choice([0.0, 0.02, 0.3]), rng=rng, format="csr")
        np.savez(path, X_data=X.data, X_indices=X.indices, X_indptr=X.indptr, X_shape=np.array(X.shape), y=y)
    else:
        dtype = rng.choice([np.float64, np.float32, np.uint8, np.int16, bool])
        np.savez(path, X=(rng.normal(size=(n, d)) * 100).astype(dtype), y=y)
    return path
