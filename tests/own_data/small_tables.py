"""Small tables of all kinds, for fuzzing."""

import string

import numpy as np
import pandas as pd
from hypothesis import strategies as st

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=8).map(str.strip)
TEXTS = st.sampled_from(["", "a", "b", "ß", "é 日本", "NA", "1", "1.0", "a,b", 'say "x"', " ", "inf", "x;y"])
NUMBERS = st.one_of(
    st.floats(width=64, allow_nan=True, allow_infinity=True),
    st.integers(-(2**40), 2**40),
    st.sampled_from([0.0, 1.0, 1e300, -1e300, 1e-300, 1.7e9, 1.7e9 + 1]),
)
VALUES = {
    "number": NUMBERS,
    "text": TEXTS,
    "flag": st.booleans(),
    "date": st.dates(pd.Timestamp("1900-01-01").date(), pd.Timestamp("2100-01-01").date()).map(str),
    "mixed": st.one_of(NUMBERS, TEXTS, st.none()),
    "constant": st.just(7),
    "absent": st.none(),
}


@st.composite
def tables(draw, max_rows=40):
    """Draw a table with a column ``target``, or not, and say which columns are targets."""
    n = draw(st.integers(0, max_rows))
    names = draw(st.lists(NAMES, min_size=0, max_size=5))
    frame = pd.DataFrame(index=range(n))
    columns = []
    for name in names:
        kind = draw(st.sampled_from(sorted(VALUES)))
        values = draw(st.lists(VALUES[kind], min_size=n, max_size=n))
        if draw(st.booleans()):
            values = [None if draw(st.integers(0, 4)) == 0 else value for value in values]
        columns.append(pd.Series(values, name=name, dtype=object))
    targets = draw(st.integers(1, 3)) if draw(st.integers(0, 4)) == 0 else 1
    for number in range(targets):
        classes = draw(st.sampled_from([1, 2, 2, 3, 7, 200]))
        style = draw(st.sampled_from(["number", "text", "real", "flag"]))
        codes = draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n))
        values = {
            "number": codes,
            "text": [string.ascii_letters[code % 52] + str(code // 52) for code in codes],
            "real": [code + 0.5 for code in codes],
            "flag": [bool(code % 2) for code in codes],
        }[style]
        if draw(st.integers(0, 5)) == 0:
            values = [None if draw(st.booleans()) else value for value in values]
        columns.append(pd.Series(values, name=f"target {number}", dtype=object))
    if columns:
        frame = pd.concat(columns, axis=1)
    return frame, [f"target {number}" for number in range(targets)]


def regular_table(seed, n=60, classes=3):
    """Return a table on which every method can work."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % classes)
    frame = pd.DataFrame(rng.normal(size=(n, 3)) + codes[:, None], columns=["a", "b", "größe"])
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    frame["shop"] = rng.choice(["x", "y", None], n)
    frame["site"] = np.arange(n) // 3
    return frame.assign(kind=[f"class {code}" for code in codes])
