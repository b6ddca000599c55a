"""Numbers that README.md and reports/reference/README.md quote stand in the reference results."""

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eigenbench.bench.suites.suite_file import load_suite

pytestmark = pytest.mark.workflow

REPOSITORY = Path(__file__).resolve().parents[2]
REFERENCE = REPOSITORY / "reports" / "reference"

#: Numbers with a decimal point or an exponent; whole ones are too often found by chance.
NUMBERS = re.compile(r"\d[\d,]*(?:\.\d+)(?:e-\d+)?|(?<![\d\w])\.\d+|\d+e-\d+")

#: Pages that scripts write from the results of a suite; a finding may quote their ratios.
PAGES = {"comparison": "which_embedding.md", "learning_curves": "learning_curves.md"}


def findings() -> dict[str, str]:
    """Return the text of each finding by the names of its suites."""
    text = (REFERENCE / "README.md").read_text(encoding="utf-8").partition("\n## Ten findings\n")[2]
    found = re.findall(r"^\d+\. (.*?)\((`\w+`(?:, `\w+`)*)\)$", text, re.MULTILINE | re.DOTALL)
    return {suites.replace("`", ""): body for body, suites in found}


def known(suites: list[str]) -> np.ndarray:
    """Return the magnitudes that the results give: values, means, intervals, costs; in % too."""
    rows = pd.concat(map(pd.read_csv, sorted(REFERENCE.rglob("results*.csv"))))
    rows = rows[rows["suite"].isin(suites) & rows["metric"].notna()]
    numbers = [*rows[["fit_seconds", "train_seconds", "predict_seconds"]].to_numpy().ravel()]
    numbers += [*rows["peak_rss_mb"] * 1.048576e-3]
    for name in suites:
        for spec in load_suite(REPOSITORY / "config" / "suites" / f"{name}.yaml").experiments.values():
            numbers += [number.value for number in spec.published]
    names = ["dataset", "metric", "suite", "classifier", "method"]
    for _, values in rows.groupby(names, dropna=False)["value"]:
        numbers += [len(values), values.mean(), *values]
    boards = pd.concat(map(pd.read_csv, sorted(REFERENCE.rglob("leaderboard.csv"))))
    for line in boards[boards["suite"].isin(suites)].to_dict("records"):
        low, mean, high = line["ci_low"], line["mean"], line["ci_high"]
        symmetric = np.isclose(high - mean, mean - low, rtol=1e-6, atol=0)
        numbers += [low, high, line["p_value"], *([high - mean] if symmetric else [])]
    return np.abs(np.concatenate([numbers, np.multiply(100, numbers)]))


def is_among(text: str, numbers: np.ndarray) -> bool:
    """Say whether a number, rounded as it is written, is among some."""
    mantissa, _, exponent = text.replace(",", "").partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return bool(np.any(np.abs(numbers - float(text.replace(",", ""))) <= 0.505 * unit))


def test_there_are_ten_findings_from_all_suites_with_published_numbers():
    with (REFERENCE / "comparison.csv").open(encoding="utf-8", newline="") as stream:
        measured = {row["suite"] for row in csv.DictReader(stream) if row["measured"]}
    assert len(findings()) == 10
    assert measured - {"quick"} <= {name for names in findings() for name in names.split(", ")}


@pytest.mark.parametrize("suites", findings())
def test_every_quoted_number_of_a_finding_is_in_the_results(suites):
    names = suites.split(", ")
    if names[0] in PAGES:
        page = (REPOSITORY / "docs" / PAGES[names[0]]).read_text(encoding="utf-8")
        assert set(NUMBERS.findall(findings()[suites])) <= set(NUMBERS.findall(page))
    else:
        numbers = known(names)
        assert [one for one in NUMBERS.findall(findings()[suites]) if not is_among(one, numbers)] == []


def test_the_readme_quotes_the_memory_of_quick():
    (size,) = re.findall(r"largest process needs ([\d.]+) GB", (REPOSITORY / "README.md").read_text("utf-8"))
    with (REFERENCE / "results.csv").open(encoding="utf-8", newline="") as stream:
        largest = max(float(row["peak_rss_mb"] or 0) for row in csv.DictReader(stream))
    assert float(size) == round(largest * 1.048576e-3, 1)


def test_the_readme_quotes_no_errors_that_the_references_lack():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    numbers = known(["quick", "gem_mnist"])
    for number in re.findall(r"([\d.,]+) ?(?:%|test errors|errors)", text):
        assert is_among(number, numbers), number
