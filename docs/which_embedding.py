"""Writes the tables of which_embedding.md from the reference results of the suite comparison."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

DOCS = Path(__file__).resolve().parent
REFERENCE = DOCS.parent / "reports" / "reference" / "comparison"
PAGE = DOCS / "which_embedding.md"
_BLOCK = re.compile(r"(<!-- from the reference results -->\n).*?(<!-- end -->)", re.DOTALL)

#: The questions that the page answers by pairs, the first method against the second.
QUESTIONS = (
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


def label(method: str, classifier: str) -> str:
    """Name a competitor; logistic regression is that of all embeddings and is left out."""
    return method if classifier == "LogisticRegression" else f"{method} + {classifier}"


def read_boards() -> pd.DataFrame:
    """Return the leaderboards of all datasets, with a column ``name``."""
    boards = pd.read_csv(REFERENCE / "leaderboard.csv")
    boards["name"] = [label(*pair) for pair in zip(boards["method"], boards["classifier"], strict=True)]
    return boards


def table(headings: list[str], rows: list[list[str]]) -> str:
    """Lay out a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def ranks_table(boards: pd.DataFrame) -> str:
    """List the competitors by mean rank, with how often they tie with the best, and their cost."""
    ranks = pd.read_csv(REFERENCE / "ranks.csv")
    tied = boards.groupby("name")["tied"].sum()
    rows = []
    for line in ranks.to_dict("records"):
        name = line["competitor"].removesuffix(" + LogisticRegression")
        rows.append([f"`{name}`", f"{line['mean_rank']:.1f}", f"{int(tied[name])}", f"{line['seconds']:.2g}"])
    n = int(ranks["n_datasets"].iloc[0])
    return table(["method", "mean rank", f"ties with the best, of {n}", "seconds, mean"], rows)


def dataset_table(boards: pd.DataFrame) -> str:
    """Say for each dataset which method is best, which embedding, and what the raw inputs give."""
    rows = []
    for dataset, board in boards.groupby("dataset"):
        ranked = board.sort_values("mean")
        best = ranked.iloc[0]
        embedded = ranked[(ranked["method"] != "raw") & ranked["mean"].notna()].iloc[0]
        raw = ranked[ranked["name"] == "raw"].iloc[0]
        rows.append(
            [
                f"`{dataset}`",
                f"`{best['name']}` {100 * best['mean']:.1f}",
                f"{int(ranked['tied'].sum())}",
                f"`{embedded['name']}` {100 * embedded['mean']:.1f}" + (" =" if embedded["tied"] else ""),
                f"{100 * raw['mean']:.1f}" + (" =" if raw["tied"] else ""),
            ]
        )
    return table(["data", "best, error in %", "tie", "best embedding", "raw, logistic regression"], rows)


def pairs_table() -> str:
    """Answer the questions by wins and losses over datasets, and by the probability of a difference."""
    pairs = pd.read_csv(REFERENCE / "pairs.csv")
    found = {}
    for line in pairs.to_dict("records"):
        names = tuple(name.removesuffix(" + LogisticRegression") for name in (line["first"], line["second"]))
        found[names] = line
        found[names[::-1]] = line | {
            "wins": line["losses"],
            "losses": line["wins"],
            "first_better": line["second_better"],
            "second_better": line["first_better"],
        }
    rows = []
    for names in QUESTIONS:
        line = found[names]
        shares = [f"{line[key]:.2f}" for key in ("first_better", "equivalent", "second_better")]
        counts = "/".join(str(line[key]) for key in ("wins", "ties", "losses"))
        rows.append([f"`{names[0]}`", f"`{names[1]}`", counts, f"{line['p_holm']:.2g}", *shares])
    headings = [
        "first",
        "second",
        "wins/ties/losses",
        "p (Holm)",
        "P(first better)",
        "P(same)",
        "P(second better)",
    ]
    return table(headings, rows)


def block() -> str:
    """Return everything that stands between the marks of the page."""
    boards = read_boards()
    return "\n".join(
        [
            "### Ranks\n",
            ranks_table(boards),
            "### Pairs\n",
            pairs_table(),
            "### Data\n",
            "Tie: how many methods can't be told from the best; = marks those that are among them.\n",
            dataset_table(boards),
        ]
    )


def main() -> None:
    """Write the tables into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(lambda found: f"{found[1]}{block()}{found[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
