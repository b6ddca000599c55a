"""Writes the tables of defaults.md from the reference results of the suite defaults."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from page_parts import table, write_parts

from eigenbench.reporting.formatting import ratio

PAGE = Path(__file__).resolve().parent / "defaults.md"
REFERENCE = PAGE.parents[1] / "reports" / "reference" / "defaults"

#: Name on the page → method and classifier with defaults, and the same tuned.
OURS = {
    "CalibratedLeastSquares": (("raw", "CalibratedLeastSquares"), ("raw", "least_squares_tuned")),
    "SecondOrderLogistic": (("raw", "SecondOrderLogistic"), ("raw", "second_order_tuned")),
    "StochasticLogistic": (("raw", "StochasticLogistic"), ("raw", "stochastic_tuned")),
    "LabelEmbeddingClassifier": (("raw", "LabelEmbeddingClassifier"), ("raw", "label_embedding_tuned")),
    "GEM": (("gem", "CalibratedLeastSquares"), ("gem_tuned", "embedding_tuned")),
    "FisherLDA": (("fisher_lda", "CalibratedLeastSquares"), ("fisher_lda_tuned", "embedding_tuned")),
    "HyperbolicPCA": (
        ("hyperbolic_pca", "CalibratedLeastSquares"),
        ("hyperbolic_pca_tuned", "embedding_tuned"),
    ),
    "RandomFourierFeatures": (("fourier", "CalibratedLeastSquares"), ("fourier_tuned", "embedding_tuned")),
}
PEERS = {
    "LogisticRegression": "LogisticRegression",
    "RidgeClassifierCV": "RidgeClassifierCV",
    "LinearSVC": "LinearSVC",
    "CalibratedClassifierCV(RidgeClassifier)": "ridge_calibrated",
    "HistGradientBoostingClassifier": "HistGradientBoostingClassifier",
}
#: The classifiers whose better log loss is the measure of ours.
STANDARDS = ("LogisticRegression", "CalibratedClassifierCV(RidgeClassifier)")


def read() -> pd.DataFrame:
    """Return the mean over seeds of each metric: a row for each dataset and estimator.

    Columns are the metrics, ``seconds`` and the sum ``errors`` over seeds; estimators are named as on the
    page, tuned ones with " tuned" after it.
    """
    lines = pd.concat(map(pd.read_csv, sorted(REFERENCE.glob("results*.csv"))))
    names = {
        pair: name + end
        for name, pairs in OURS.items()
        for pair, end in zip(pairs, ("", " tuned"), strict=True)
    }
    names |= {(method, key): name for name, key in PEERS.items() for method in ("raw", "singular")}
    lines["name"] = list(map(names.get, zip(lines["method"], lines["classifier"], strict=True)))
    lines["dataset"] = lines["dataset"].str.removesuffix("_500")
    lines["seconds"] = lines[["fit_seconds", "train_seconds"]].sum(axis=1)
    run = ["dataset", "name", "seed"]
    metrics = lines.pivot_table(index=run, columns="metric", values="value")
    found = metrics.join(lines.groupby(run)["seconds"].first()).groupby(["dataset", "name"])
    return found.mean().assign(errors=found["test_errors"].sum(min_count=1))


def column(results: pd.DataFrame, metric: str, name: str) -> pd.Series:
    """Return a metric of an estimator by dataset; NaN where it has none."""
    return results[metric].unstack()[name]


def error_ratios(results: pd.DataFrame, name: str) -> pd.Series:
    """Return errors by default over errors tuned, by dataset; half an error is added to each count."""
    counts = results["errors"].unstack() + 0.5
    return counts[name] / counts[f"{name} tuned"]


def loss_ratios(results: pd.DataFrame, name: str) -> pd.Series:
    """Return the log loss by default over the smaller one of the two standards, by dataset."""
    losses = results["test_log_loss"].unstack()
    return losses[name] / losses[list(STANDARDS)].min(axis=1)


def _mean(results: pd.DataFrame, metric: str, name: str, style: str, scale: float = 1) -> str:
    value = column(results, metric, name).mean()
    return "–" if np.isnan(value) else style.format(scale * value)


def ratios_table(results: pd.DataFrame) -> str:
    """List the ratio of errors, default to tuned, and of log losses, ours to the better standard."""
    rows = []
    for name in OURS:
        cells = [f"`{name}`"]
        for found in (error_ratios(results, name), loss_ratios(results, name)):
            cells += [
                ratio(float(np.exp(np.log(found).mean()))),
                f"{ratio(float(found.max()))} `{found.idxmax()}`",
                f"{int((found <= 1.1).sum())} of {found.notna().sum()}",
            ]
        rows.append(cells)
    headings = ["estimator", "error, default ÷ tuned", "largest", "≤ 1.1"]
    return table([*headings, "log loss ÷ better standard", "largest", "≤ 1.1"], rows)


def metrics_table(results: pd.DataFrame) -> str:
    """List the means over datasets of every estimator with its defaults, ours first."""
    rows = [
        [
            f"`{name}`",
            _mean(results, "test_error", name, "{:.1f}", 100),
            _mean(results, "test_log_loss", name, "{:.3f}"),
            _mean(results, "test_brier", name, "{:.3f}"),
            _mean(results, "test_calibration_error", name, "{:.1f}", 100),
            _mean(results, "seconds", name, "{:.2f}"),
        ]
        for name in (*OURS, *PEERS)
    ]
    return table(["estimator", "error, %", "log loss", "Brier", "calibration error, %", "seconds"], rows)


def datasets_table(results: pd.DataFrame, metric: str, style: str, scale: float) -> str:
    """List a metric of all estimators with their defaults, datasets in rows."""
    wide = results[metric].unstack()
    names = [name for name in (*OURS, *PEERS) if wide[name].notna().any()]
    rows = [
        [f"`{dataset}`", *("–" if np.isnan(line[n]) else style.format(scale * line[n]) for n in names)]
        for dataset, line in wide.iterrows()
    ]
    return table(["data", *(f"`{name}`" for name in names)], rows)


def blocks() -> dict[str, str]:
    """Return the generated parts of the page, by their names."""
    results = read()
    return {
        "the ratios": ratios_table(results),
        "the means": metrics_table(results),
        "the errors": datasets_table(results, "test_error", "{:.1f}", 100),
        "the losses": datasets_table(results, "test_log_loss", "{:.3f}", 1),
    }


def main() -> None:
    """Write the tables into the page."""
    write_parts(PAGE, blocks())


if __name__ == "__main__":
    main()
