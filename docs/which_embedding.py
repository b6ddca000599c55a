"""Writes the tables of which_embedding.md from the reference results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from page_parts import table, write_parts
from rank_claims import rank_claim_support
from reference_verdicts import reference_comparisons

from eigenbench.bench.jobs.plan import load_plan
from eigenbench.comparison.ranks import holm
from eigenbench.datasets.project_files import project_folder
from eigenbench.reporting.formatting import ratio

DOCS = Path(__file__).resolve().parent
REFERENCE = DOCS.parent / "reports" / "reference"
PAGE = DOCS / "which_embedding.md"
#: Share of bootstraps over datasets from which on the page may claim that a method is ahead.
SUPPORT = 0.95
#: Largest p-value of Wilcoxon's test of such a claim.
LEVEL = 0.05

#: Display names of the methods of the suite gem_mnist, in the order of the page.
MNIST = {
    ("mnist", "random"): "Random directions",
    ("mnist", "pca"): "Principal components",
    ("mnist", "pca_rotated"): "Principal components, whitened, rotated at random",
    ("mnist", "gem"): "GEM",
    ("two_layers", "deep_gem_absolute"): "Two-layer GEM, chosen by cross-validation",
    ("two_layers", "deep_gem_two_powers"): "Two-layer GEM, two powers between the layers",
    ("two_layers", "deep_gem"): "Two-layer GEM, square roots between the layers",
    ("mnist", "subclass_gem"): "SubclassGEM",
    ("two_layers_side_by_side", "deep_gem_wide"): "Two-layer GEM and two-layer SubclassGEM side by side",
    ("ensemble", "deep_gem"): "Ensemble of four two-layer GEM networks",
}


@dataclass(frozen=True)
class Problem:
    """A kind of problem, whose experiments share a metric, with its title, unit and format on the page.

    Embeddings are compared with the competitor ``plain``, and the pairs of ``questions`` first against
    second; there are none where datasets are too few for ranks.
    """

    title: str
    metric: str
    unit: str
    style: str
    plain: str
    questions: tuple[tuple[str, str], ...] = ()
    suite: str = "comparison"
    plain_heading: str = "no embedding"

    def value(self, number: float) -> str:
        """Format a value of the metric."""
        return self.style.format(100 * number if self.unit == "%" else number)


TABLE_QUESTIONS = (
    ("gem", "raw"),
    ("gem", "random"),
    ("gem", "pca"),
    ("gem", "pca_rotated"),
    ("gem", "lda"),
    ("deep_gem", "gem"),
    ("gem_neighborhoods", "gem"),
    ("gem_subclasses", "gem"),
    ("gem_on_fourier", "gem"),
    ("gem_and_fourier", "fourier"),
    ("gem_and_fourier", "raw + SVC"),
    ("rembrandt", "plst"),
    ("rembrandt_on_fourier", "fourier"),
    ("hyperbolic_pca", "pca"),
    ("spherical", "random_maclaurin"),
    ("spherical", "tensor_sketch"),
    ("spherical", "fourier"),
    ("fourier", "nystroem"),
    ("raw + SVC", "raw + HistGradientBoostingClassifier"),
)

PROBLEMS = (
    Problem(
        "Tables",
        "test_error",
        "%",
        "{:.1f}",
        "raw",
        TABLE_QUESTIONS,
    ),
    Problem(
        "Labels",
        "test_micro_f1",
        "micro F1",
        "{:.3f}",
        "logistic",
        (
            ("rembrandt", "logistic"),
            ("rembrandt", "plst"),
            ("rembrandt", "compressed_sensing"),
            ("rembrandt", "pca"),
        ),
    ),
    Problem(
        "New classes, known from one example each",
        "nn_error",
        "%",
        "{:.1f}",
        "pixels",
        (("hpca", "pixels"), ("hpca", "lda"), ("hpca", "lfda"), ("hpca", "nca"), ("hpca", "hpca_linear")),
    ),
    Problem(
        "Features of a polynomial kernel, D = 4,096",
        "expected_kernel_mse_at_4096",
        "squared error of the kernel",
        "{:.1e}",
        "random_maclaurin",
        (
            ("srf_original", "random_maclaurin"),
            ("srf_original", "tensor_sketch"),
            ("srf", "srf_original"),
            ("srf_sample", "srf"),
            ("hermite", "srf_sample"),
        ),
        plain_heading="Random Maclaurin",
    ),
    Problem(
        "Tables, 300 features of every method",
        "test_error",
        "%",
        "{:.1f}",
        "random",
        tuple(names for names in TABLE_QUESTIONS if not re.search("raw|gem_and_fourier", " ".join(names))),
        "equal_features",
        "random directions",
    ),
    Problem(
        "Supervised UMAP",
        "test_error",
        "%",
        "{:.1f}",
        "raw",
        tuple(("umap", rival) for rival in ("raw", "pca_whitened", "lda", "gem", "fourier")),
        "umap",
    ),
    Problem(
        "Choices of signal and noise (Table 1 of the GEM paper)",
        "test_error",
        "%",
        "{:.1f}",
        "raw",
        suite="gem_relatives",
    ),
    Problem(
        "Real-valued targets",
        "unexplained_variance",
        "unexplained share of the variance",
        "{:.3f}",
        "raw",
        suite="real_targets",
    ),
)


def name_of(competitor: str) -> str:
    """Shorten a competitor: the classifier that all methods share, and a method that does nothing, go."""
    return competitor.removesuffix(" + LogisticRegression").removeprefix("identity + ")


def read(name: str, problem: Problem) -> pd.DataFrame:
    """Return the lines of a reference table that belong to a problem."""
    lines = pd.read_csv(REFERENCE / problem.suite / f"{name}.csv", dtype={"classifier": str})
    return lines[lines["metric"] == problem.metric]


def read_board(problem: Problem) -> pd.DataFrame:
    """Return the leaderboards of all datasets of a problem, with columns ``name`` and ``tested``."""
    board = read("leaderboard", problem)
    competitors = board["method"] + (" + " + board["classifier"]).fillna("")
    return board.assign(
        name=competitors.map(name_of), tested=board["tied"].notna(), tied=board["tied"].eq(True)
    )


def ranks_table(problem: Problem, board: pd.DataFrame) -> str:
    """List the competitors by mean rank, with how often they tie with the best, and their cost."""
    ranks = read("ranks", problem)
    ties = board.groupby("name")["tied"].sum()
    rows = []
    for line in ranks.to_dict("records"):
        name = name_of(line["competitor"])
        failed = str(line["n_failed"]) if line["n_failed"] else ""
        rows.append(
            [
                f"`{name}`",
                f"{line['mean_rank']:.1f} {_ends(line)}",
                f"{int(ties[name])}",
                failed,
                f"{line['seconds']:.2g}",
            ]
        )
    n = int(board.groupby("dataset")["tested"].any().sum())
    tied = f"tied with the best, of {n} tested"
    return table(["method", "mean rank, 95 % interval", tied, "failed", "seconds, geometric mean"], rows)


def _ends(line: dict) -> str:
    return f"[{line['rank_low']:.1f}, {line['rank_high']:.1f}]"


def dataset_table(problem: Problem, board: pd.DataFrame) -> str:
    """List for each dataset the best competitor, the best embedding, and the result without one."""
    rows = []
    for dataset, lines in board.groupby("dataset"):
        ranked = lines[lines["rank"].notna()].sort_values("rank", kind="stable")
        methods = ranked[~ranked["name"].str.fullmatch(f"{problem.plain}( \\+ .*)?")]
        plain = ranked[ranked["name"] == problem.plain]
        cells = [
            f"`{line['name']}` {problem.value(line['mean'])}" + (" =" if line["tied"] else "")
            for line in (ranked.iloc[0], methods.iloc[0], *plain.to_dict("records"))
        ]
        tie = f"{int(ranked['tied'].sum())}" if ranked["tested"].any() else "–"
        detectable, needed = ranked["detectable"].median(), ranked["n_to_settle"].min()
        resolution = [problem.value(detectable) if detectable > 0 else "–"]
        resolution.append("–" if np.isnan(needed) else f"{needed:.0f}")
        rows.append([f"`{dataset}`", cells[0].removesuffix(" ="), tie, *resolution, *cells[1:]])
    best = f"best, {problem.unit}"
    headings = ["data", best, "tie", "detectable", "splits needed", "best embedding", problem.plain_heading]
    return table(headings, rows)


def means_table(problem: Problem, board: pd.DataFrame) -> str:
    """List the means of all methods on the few datasets of a problem, the best mean over them first."""
    datasets = board["dataset"].unique()
    order = board.groupby("name")["mean"].mean().sort_values().index
    cells = {
        (line["name"], line["dataset"]): problem.value(line["mean"]) + (" =" if line["tied"] else "")
        for line in board.to_dict("records")
    }
    rows = [[f"`{name}`", *(cells[name, dataset] for dataset in datasets)] for name in order]
    quantity = "test error, %" if problem.unit == "%" else problem.unit
    return table([f"method; {quantity}", *(f"`{dataset}`" for dataset in datasets)], rows)


def pair_lines(problem: Problem, board: pd.DataFrame) -> list[dict]:
    """Compare the pairs of the questions, each with the support of its claim about ranks.

    ``support`` is the share of bootstraps over datasets in which ``ahead``, the method with the lower mean
    rank, stays ahead of the other in every pool of rivals. ``p_holm`` is corrected for these pairs.
    """
    found = {}
    swapped = {"first better": "second better", "second better": "first better"}
    for line in read("pairs", problem).to_dict("records"):
        names = name_of(line["first"]), name_of(line["second"])
        found[names] = line
        found[names[::-1]] = line | {
            "wins": line["losses"],
            "losses": line["wins"],
            "ratio": 1 / line["ratio"],
            "low": 1 / line["high"],
            "high": 1 / line["low"],
            "conclusion": swapped.get(line["conclusion"], line["conclusion"]),
        }
    errors = error_table(problem, board)
    lines = []
    for pair in problem.questions:
        ahead, behind = max((pair, pair[::-1]), key=lambda names: rank_claim_support(errors, *names))
        support = rank_claim_support(errors, ahead, behind)
        names = {"first": pair[0], "second": pair[1], "ahead": ahead, "behind": behind}
        lines.append(found[pair] | names | {"support": support})
    corrected = holm([line["p_value"] for line in lines])
    return [line | {"p_holm": p} for line, p in zip(lines, corrected, strict=True)]


def error_table(problem: Problem, board: pd.DataFrame) -> pd.DataFrame:
    """Return errors, datasets x methods; infinite where a run failed."""
    values = board["mean"] if problem.metric != "test_micro_f1" else 1 - board["mean"]
    errors = board.assign(error=values.where(board["rank"].notna()))
    return errors.pivot(index="dataset", columns="name", values="error").fillna(np.inf)


def claims(problem: Problem, board: pd.DataFrame) -> list[list[str]]:
    """List which pairs of the questions the results settle, and which stay open."""
    lines = pair_lines(problem, board)
    held = [line for line in lines if line["support"] >= SUPPORT and line["p_value"] <= LEVEL]
    equal = [line for line in lines if line["conclusion"] == "equivalent" and line not in held]
    rest = [line for line in lines if line not in held and line not in equal]
    title = f"{problem.title} ({board['dataset'].nunique()} datasets)"
    found = {"ahead": ("ahead of", held), "equivalent": ("and", equal), "open": ("and", rest)}
    return [
        [title, finding, ", ".join(_pair(line, joint) for line in chosen)]
        for finding, (joint, chosen) in found.items()
        if chosen
    ]


def _pair(line: dict, joint: str) -> str:
    """Name a pair with the ratio of errors, the method ahead to the other."""
    found = line["ratio"] if line["ahead"] == line["first"] else 1 / line["ratio"]
    number = f" ({ratio(found)})" if np.isfinite(found) else ""
    return f"`{line['ahead']}` {joint} `{line['behind']}`{number}"


def pairs_table(problem: Problem, board: pd.DataFrame) -> str:
    """Answer the questions by wins, losses and the ratio of errors over datasets."""
    rows = []
    for line in pair_lines(problem, board):
        counts = "/".join(str(line[key]) for key in ("wins", "ties", "losses"))
        numbers = [ratio(line["ratio"]), ratio(line["low"], line["high"]), ratio(line["detectable"])]
        support = f"`{line['ahead']}` {100 * line['support']:.0f} %" if line["support"] else "–"
        names = [f"`{line['first']}`", f"`{line['second']}`"]
        p_values = [f"{line[key]:.2g}" for key in ("p_value", "p_holm")]
        rows.append([*names, counts, *p_values, *numbers, line["conclusion"], support])
    headings = [
        "first",
        "second",
        "wins/equal/losses",
        "p (Wilcoxon)",
        "p (Holm)",
        "ratio",
        "95 % interval",
        "detectable",
        "by interval",
        "lower mean rank in every pool, share of bootstraps",
    ]
    return table(headings, rows)


def mnist_table() -> str:
    """List the errors of the suite gem_mnist beside the published ones, with the mean time of a run."""
    plan = load_plan(project_folder() / "config" / "suites" / "gem_mnist.yaml")
    board = pd.read_csv(REFERENCE / plan.suite.name / "leaderboard.csv").set_index(["experiment", "method"])
    compared = {
        (row.experiment, row.number.method): row for row in reference_comparisons([plan]) if row.number.method
    }
    results = pd.concat(map(pd.read_csv, sorted((REFERENCE / plan.suite.name).glob("results*.csv"))))
    runs = results.drop_duplicates("run_key").fillna(0)
    runs["seconds"] = runs["fit_seconds"] + runs["train_seconds"]
    seconds = runs.groupby(["method", "classifier"])["seconds"].mean()
    rows = []
    for place, label in MNIST.items():
        found, number = board.loc[place], compared.get(place)
        trained = "none" if pd.isna(found["classifier"]) else found["classifier"]
        rows.append(
            [
                label,
                f"{number.number.value:g}" if number else "–",
                f"{found['mean']:.4g}",
                f"{found['ci_low']:.1f} – {found['ci_high']:.1f}",
                f"{found['n_seeds']}",
                number.marked_outcome if number else "",
                f"{seconds[place[1], trained]:,.0f}",
            ]
        )
    headings = ["features", "published", "measured", "95 % interval", "seeds", "verdict", "seconds, mean"]
    return table(headings, rows)


def claims_block() -> str:
    """Return the claims of all kinds of problem with enough datasets for ranks."""
    rows = [row for one in PROBLEMS if one.questions for row in claims(one, read_board(one))]
    return table(["problem", "finding", "pairs, with the ratio of their errors"], rows)


def block() -> str:
    """Return the tables of all kinds of problem."""
    parts = []
    for problem in PROBLEMS:
        board = read_board(problem)
        parts.append(f"### {problem.title}\n")
        if not problem.questions:
            parts += ["= marks methods tied with the best (5 % level).\n", means_table(problem, board)]
            continue
        parts += [
            ranks_table(problem, board),
            pairs_table(problem, board),
            "*Tie*: number of methods that tie with the best, itself included (5 % level); – if not tested."
            " Tied methods have a =.\n",
            dataset_table(problem, board),
        ]
    return "\n".join(parts)


def main() -> None:
    """Write the tables into the page."""
    tables = {"gem_mnist": mnist_table(), "the claims": claims_block(), "the reference results": block()}
    write_parts(PAGE, tables)


if __name__ == "__main__":
    main()
