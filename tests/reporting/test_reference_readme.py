"""What README.md and reports/reference/README.md quote stands in the reference results."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets import load_catalogue
from eigenbench.reporting.replicates import estimate

pytestmark = pytest.mark.workflow

REPOSITORY = Path(__file__).resolve().parents[2]
REFERENCE = REPOSITORY / "reports" / "reference"

#: Numbers that are quoted: in cells of tables any, in text those with a decimal point or an exponent.
IN_TABLES = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-\d+)?|(?<!\d)\.\d+")
IN_TEXT = re.compile(r"\d[\d,]*(?:\.\d+)(?:e-\d+)?|(?<!\d)\.\d+")


def sections() -> dict[str, str]:
    """Return the text of each section by the names of its suites."""
    text = (REFERENCE / "README.md").read_text(encoding="utf-8")
    return {
        found[1]: body
        for part in text.split("\n## ")[1:]
        for heading, body in [part.split("\n", 1)]
        if (found := re.search(r"\((\w+(?:, \w+)*)\)$", heading))
    }


def quoted(text: str) -> Iterator[tuple[str, str]]:
    """Yield each quoted number with its line; headers and first cells of tables name settings."""
    before = ""
    for line in re.sub(r"`[^`]*`|\]\([^)]*\)", "", text).splitlines():
        table = line.startswith("|")
        if not table:
            cells, pattern = [line], IN_TEXT
        elif before.startswith("|") and not set(line) <= set("|- "):
            cells, pattern = line.split("|")[2:], IN_TABLES
        else:
            cells = []
        for cell in cells:
            yield from ((found.rstrip(","), line) for found in pattern.findall(cell))
        before = line


def known(suites: list[str]) -> np.ndarray:
    """Return the magnitudes that the results give: values, means, intervals, costs; in % too."""
    rows = pd.concat(map(pd.read_csv, sorted(REFERENCE.rglob("results*.csv"))))
    rows = rows[rows["suite"].isin(suites) & rows["metric"].notna()]
    numbers = [*rows[["fit_seconds", "train_seconds", "predict_seconds"]].to_numpy().ravel()]
    numbers += [*rows["peak_rss_mb"] * 1.048576e-3]
    for name in suites:
        for spec in load_suite(REPOSITORY / "config" / "suites" / f"{name}.yaml").experiments.values():
            numbers += [number.value for number in spec.published]
    entries, names = load_catalogue().datasets, ["dataset", "metric", "suite", "classifier", "method"]
    for (dataset, metric, *_), values in rows.groupby(names, dropna=False)["value"]:
        found = estimate(metric, list(values), deterministic=False, n_test=entries[dataset].n_test)
        ends = [found.low, found.high, found.high - found.mean] if found.high is not None else []
        numbers += [len(values), found.mean, *values, *ends]
    return np.abs(np.concatenate([numbers, np.multiply(100, numbers)]))


def is_among(text: str, numbers: np.ndarray) -> bool:
    """Say whether a number, rounded as it is written, is among some."""
    mantissa, _, exponent = text.replace(",", "").partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return bool(np.any(np.abs(numbers - float(text.replace(",", ""))) <= 0.505 * unit))


@pytest.mark.parametrize("suites", sections())
def test_every_quoted_number_of_a_suite_is_in_its_results(suites):
    numbers = known(suites.split(", "))
    absent = [
        f"{number} in: {line}" for number, line in quoted(sections()[suites]) if not is_among(number, numbers)
    ]
    assert not absent, "\n".join(absent)


def test_all_suites_with_results_and_published_numbers_are_quoted():
    named = {name for names in sections() for name in names.split(", ")}
    with (REFERENCE / "comparison.csv").open(encoding="utf-8", newline="") as stream:
        measured = {row["suite"] for row in csv.DictReader(stream) if row["measured"]}
    assert measured - {"quick"} <= named


def test_the_readme_quotes_the_memory_of_quick():
    (size,) = re.findall(r"largest process takes ([\d.]+) GB", (REPOSITORY / "README.md").read_text("utf-8"))
    with (REFERENCE / "results.csv").open(encoding="utf-8", newline="") as stream:
        largest = max(float(row["peak_rss_mb"] or 0) for row in csv.DictReader(stream))
    assert float(size) == round(largest * 1.048576e-3, 1)


def test_the_readme_quotes_no_errors_that_the_references_lack():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    numbers = known(["quick", "gem_mnist"])
    for number in re.findall(r"([\d.,]+) ?(?:%|test errors|errors)", text):
        assert is_among(number, numbers), number
