"""Writes the tables of defaults.md from the reference results of the suites defaults and tuning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from page_parts import table, write_parts
from scipy import stats

from eigenbench.reporting.formatting import ratio

PAGE = Path(__file__).resolve().parent / "defaults.md"
REFERENCE = PAGE.parents[1] / "reports" / "reference" / "defaults"
TUNING = REFERENCE.with_name("tuning")

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
    """Return the log loss by default over the smaller one of the two baselines, by dataset."""
    losses = results["test_log_loss"].unstack()
    return losses[name] / losses[list(STANDARDS)].min(axis=1)


def _mean(results: pd.DataFrame, metric: str, name: str, style: str, scale: float = 1) -> str:
    value = column(results, metric, name).mean()
    return "–" if np.isnan(value) else style.format(scale * value)


def ratios_table(results: pd.DataFrame) -> str:
    """List the ratio of errors, default to tuned, and of log losses, ours to the better baseline."""
    rows = []
    for name in OURS:
        cells = [f"`{name}`"]
        for found in (error_ratios(results, name), loss_ratios(results, name)):
            cells += [
                _mean_ratio(found),
                f"{ratio(float(found.max()))} `{found.idxmax()}`",
                f"{int((found <= 1.1).sum())} of {found.notna().sum()}",
            ]
        rows.append(cells)
    headings = ["estimator", "error, default ÷ tuned", "largest", "≤ 1.1"]
    return table([*headings, "log loss ÷ better baseline", "largest", "≤ 1.1"], rows)


def _mean_ratio(ratios: pd.Series) -> str:
    """Write the geometric mean of ratios over datasets, with its 95 % interval by Student's t."""
    logarithms = np.log(ratios.dropna())
    interval = stats.ttest_1samp(logarithms, 0).confidence_interval(0.95)
    return f"{ratio(float(np.exp(logarithms.mean())))} {ratio(*np.exp(interval))}"


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


def read_tuning() -> dict[str, pd.DataFrame]:
    """Return the mean errors of every method, datasets x methods, by ``default`` and ``tuned`` settings.

    Only datasets and methods that have all runs of both are there, so that they compare alike.
    """
    lines = pd.concat(map(pd.read_csv, sorted(TUNING.glob("results_*.csv"))))
    lines = lines[lines["metric"] == "test_error"]
    classifier = lines["classifier"].str.removesuffix("_tuned")
    alone = classifier.eq("LogisticRegression")
    name = lines["method"].str.removesuffix("_tuned").where(alone, classifier)
    setting = np.where(lines["classifier"].str.endswith("_tuned"), "tuned", "default")
    errors = lines["value"].groupby([lines["dataset"], setting, name]).mean().unstack()
    found = {one: errors.xs(one, level=1) for one in ("default", "tuned")}
    both = found["default"].columns.intersection(found["tuned"].dropna(axis=1).columns)
    return {one: table[both] for one, table in found.items()}


def tuning_ratios(errors: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return errors by default over errors tuned, methods x datasets; zero counts as half the smallest."""
    least = min(table[table > 0].min().min() for table in errors.values()) / 2
    return (errors["default"].clip(lower=least) / errors["tuned"].clip(lower=least)).T


def places(errors: pd.DataFrame) -> pd.Series:
    """Return the mean rank of each method over datasets."""
    return errors.rank(axis=1).mean()


def gap_table(errors: dict[str, pd.DataFrame]) -> str:
    """List the methods by the geometric mean of their ratios, default to tuned, the largest first."""
    ratios = tuning_ratios(errors)
    means = np.exp(np.log(ratios).mean(axis=1)).sort_values(ascending=False, kind="stable")
    ranks = {one: places(table) for one, table in errors.items()}
    rows = [
        [
            f"`{name}`",
            *(f"{100 * errors[one][name].mean():.1f}" for one in ("default", "tuned")),
            ratio(float(mean)),
            f"{ratio(float(ratios.loc[name].min()))} – {ratio(float(ratios.loc[name].max()))}",
            *(f"{ranks[one][name]:.1f}" for one in ("default", "tuned")),
        ]
        for name, mean in means.items()
    ]
    headings = [
        "method",
        "error by default, %",
        "tuned, %",
        "default ÷ tuned",
        "range",
        "mean rank by default",
    ]
    return table([*headings, "tuned"], rows)


def gap_sentences(errors: dict[str, pd.DataFrame]) -> str:
    """Say how large the gap is over all methods, and whether it changes their order."""
    ratios = tuning_ratios(errors)
    means = np.exp(np.log(ratios).mean(axis=1))
    ranks = pd.DataFrame({one: places(found) for one, found in errors.items()})
    best = {one: ", ".join(f"`{name}`" for name in ranks[one].nsmallest(3).index) for one in ranks}
    mean, correlation = ratio(float(np.exp(np.log(means).mean()))), ranks.corr("spearman").iloc[0, 1]
    near, better, far = (
        int(count) for count in ((means <= 1.1).sum(), (means < 1).sum(), (means > 1.5).sum())
    )
    lines = (
        f"Over {len(means)} methods and {ratios.shape[1]} tables the errors by default are {mean} times the",
        f"tuned ones, as a geometric mean. {near} methods have a ratio of at most 1.1, {far} have one above",
        f"1.5. {better} have one below 1. Mean ranks by default and tuned have a rank",
        f"correlation of {correlation:.2f}. The best three are {best['default']} by default, and",
        f"{best['tuned']} tuned.",
    )
    return " ".join(lines) + "\n"


def blocks() -> dict[str, str]:
    """Return the generated parts of the page, by their names."""
    results, tuning = read(), read_tuning()
    return {
        "the ratios": ratios_table(results),
        "the means": metrics_table(results),
        "the errors": datasets_table(results, "test_error", "{:.1f}", 100),
        "the losses": datasets_table(results, "test_log_loss", "{:.3f}", 1),
        "the gap": gap_sentences(tuning),
        "the gaps": gap_table(tuning),
    }


def main() -> None:
    """Write the tables into the page."""
    write_parts(PAGE, blocks())


if __name__ == "__main__":
    main()
