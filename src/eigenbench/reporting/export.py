"""Tables and figures of a suite as files for papers: LaTeX, Markdown, CSV, SVG, PNG and PDF."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from eigenbench.atomic_files import replacing_entries
from eigenbench.reporting import ReportError, sections
from eigenbench.reporting.captioned_figures import CaptionedFigure
from eigenbench.reporting.formatting import probability, ratio, seconds, sentence
from eigenbench.reporting.inputs import read_inputs
from eigenbench.reporting.leaderboard import leaderboard_csv, leaderboards
from eigenbench.reporting.published import PublishedComparison, comparison_csv
from eigenbench.reporting.replicates import group_runs
from eigenbench.reporting.sections import ExperimentView, RanksView, SuiteView
from eigenbench.reporting.suite_ranks import pairs_csv, ranks_csv

#: What stands in a table where there is no number.
NONE = "–"

# A bracket could be taken for an argument of the line break before it; LaTeX's first encoding lacks < > |.
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": "$-$",
        "[": "{[}",
        **{character: f"${character}$" for character in "<>|"},
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)


@dataclass(frozen=True)
class PaperTable:
    """One table: as it is shown, and its raw numbers.

    Attributes
    ----------
    name : str
        Of its files, without the ending.
    caption : str
        One or more sentences.
    shown : DataFrame
        Text, with the headings as column names; the index has no meaning.
    numeric : tuple of str
        Columns aligned at the right.
    strong : tuple of int
        Lines set in bold: the best, and what cannot be distinguished from it.
    csv : str
        The numbers behind it, raw and unrounded.
    """

    name: str
    caption: str
    shown: pd.DataFrame
    numeric: tuple[str, ...]
    strong: tuple[int, ...]
    csv: str

    def latex(self) -> str:
        """Return a ``table`` with the rules of booktabs."""
        style = self.shown.style.hide(axis="index").format(escape_latex).format_index(escape_latex, axis=1)
        bold = pd.DataFrame("", index=self.shown.index, columns=self.shown.columns)
        bold.loc[list(self.strong)] = "textbf:--rwrap;"
        return style.apply(lambda _: bold, axis=None).to_latex(
            column_format="".join("r" if name in self.numeric else "l" for name in self.shown.columns),
            hrules=True,
            position="htbp",
            position_float="centering",
            caption=escape_latex(self.caption),
            label=f"tab:{self.name}",
        )

    def markdown(self) -> str:
        """Return a table in the manner of GitHub, under its caption."""
        shown = self.shown.map(_escape_markdown)
        shown.loc[list(self.strong)] = shown.loc[list(self.strong)].map(lambda text: f"**{text}**")
        aligned = ["right" if name in self.numeric else "left" for name in shown.columns]
        shown.columns = shown.columns.map(_escape_markdown)
        table = shown.to_markdown(index=False, disable_numparse=True, colalign=aligned)
        return f"{_escape_markdown(self.caption)}\n\n{table}\n"


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX sets as it stands.

    Examples
    --------
    >>> print(escape_latex("deep_gem & 95 %"))
    deep\_gem \& 95 \%
    """
    return text.translate(_LATEX)


def _escape_markdown(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\`*_|<[" else character for character in text)


def paper_tables(view: SuiteView) -> Iterator[PaperTable]:
    """Yield the tables of a suite: published beside measured, leaderboards, ranks and pairs."""
    if view.comparisons:
        yield _published(view.suite.name, view.comparisons)
    for experiment in view.experiments:
        yield _leaderboard(experiment)
    for ranks in view.ranks:
        if not ranks.found.refusal:
            yield _ranks(ranks)
            yield _pairs(ranks)


def _published(suite: str, rows: Sequence[PublishedComparison]) -> PaperTable:
    columns = pd.DataFrame(
        [{"Source": row.number.source, "Dataset": row.dataset, **row.cells} for row in rows]
    )
    caption = f"Published beside measured, {suite}: mean over seeds, and the verdict."
    numeric = ("Published", "Measured", "Seeds")
    return PaperTable(f"{suite}-published", caption, columns, numeric, (), comparison_csv(rows))


def _leaderboard(experiment: ExperimentView) -> PaperTable:
    style, lines = experiment.headline, experiment.board_lines
    heading = sentence(style.heading)
    intervals = [style.interval(line["ci_low"], line["ci_high"]) or NONE for line in lines]
    columns = {
        "Rank": [
            NONE if line["rank"] is None else f"{line['rank']}{' =' * bool(line['tied'])}" for line in lines
        ],
        "Method": [line["method"] for line in lines],
        "Classifier": [line["classifier"] for line in lines],
        heading: [style.measured(line["mean"]) for line in lines],
        "95 % interval": intervals,
        "To the best": [style.measured(line["difference"]) for line in lines],
        "p": [probability(line["p_value"]) for line in lines],
        "Time (s)": [seconds(line["seconds"]) for line in lines],
    }
    classifiers = set(columns["Classifier"])
    common = f" of {classifiers.pop()}" if len(classifiers) == 1 and experiment.spec.classifiers else ""
    if common or not experiment.spec.classifiers:
        del columns["Classifier"]
    caption = (
        f"{experiment.title}, on {experiment.spec.dataset}: {style.label}{common}, mean over seeds, "
        "best first. = marks what cannot be distinguished from the best at 5 %."
    )
    return PaperTable(
        f"{experiment.anchor}-leaderboard",
        caption,
        pd.DataFrame(columns),
        tuple(name for name in columns if name not in ("Method", "Classifier", "95 % interval")),
        tuple(place for place, line in enumerate(lines) if line["tied"]),
        leaderboard_csv([experiment.board]),
    )


def _ranks(view: RanksView) -> PaperTable:
    found = view.found
    columns = {
        "Method": [str(name) for name in found.ranks.index],
        "Mean rank": [f"{rank:.2f}" for rank in found.ranks["mean_rank"]],
        "95 % interval": [
            f"[{low:.1f}, {high:.1f}]"
            for low, high in zip(found.ranks["rank_low"], found.ranks["rank_high"], strict=True)
        ],
        "Failed on": [str(int(number)) for number in found.ranks["n_failed"]],
        "Time (s)": [seconds(None if pd.isna(time) else time) for time in found.ranks["seconds"]],
        "Pareto front": ["yes" if on_front else "" for on_front in found.ranks["on_front"]],
    }
    caption = (
        f"Mean ranks by {view.metric.label} over {found.n_datasets} datasets, 1 is best. Ranks that differ "
        f"by less than {found.critical_difference:.2f} do not differ at 5 % (Nemenyi)."
    )
    numeric = ("Mean rank", "Failed on", "Time (s)")
    return PaperTable(view.anchor, caption, pd.DataFrame(columns), numeric, (), ranks_csv([found]))


def _pairs(view: RanksView) -> PaperTable:
    pairs = view.found.pairs
    columns = {
        "First": [str(first) for first, _ in pairs.index],
        "Second": [str(second) for _, second in pairs.index],
        "Wins": [f"{number:.0f}" for number in pairs["wins"]],
        "Ties": [f"{number:.0f}" for number in pairs["ties"]],
        "Losses": [f"{number:.0f}" for number in pairs["losses"]],
        "p": [probability(p) for p in pairs["p_value"]],
        **({"p (Holm)": [probability(p) for p in pairs["p_holm"]]} if view.found.shows_holm else {}),
        "Ratio": [ratio(value) for value in pairs["ratio"]],
        "95 % interval": [ratio(*ends) for ends in zip(pairs["low"], pairs["high"], strict=True)],
        "Conclusion": list(pairs["conclusion"]),
    }
    caption = (
        f"Pairs over {view.found.n_datasets} datasets by {view.metric.label}: datasets on which the first "
        "wins, ties and loses; p of Wilcoxon's signed-rank test; geometric mean of the ratio of errors, "
        "first to second. Pairs within 10 % are equivalent."
    )
    name = view.anchor.replace("-ranks-", "-pairs-")
    numeric = tuple(list(columns)[2:-1])
    return PaperTable(name, caption, pd.DataFrame(columns), numeric, (), pairs_csv([view.found]))


#: How a table is written, by the ending of its file.
TABLES: dict[str, Callable[[PaperTable], str]] = {
    "tex": PaperTable.latex,
    "md": PaperTable.markdown,
    "csv": lambda table: table.csv,
}
#: How a figure is written, by the ending of its file.
FIGURES: dict[str, Callable[[CaptionedFigure], bytes]] = {
    "svg": lambda picture: picture.svg.encode(),
    "png": lambda picture: picture.drawing.png(),
    "pdf": lambda picture: picture.drawing.pdf(),
}


def export_suite(
    suite_path: Path,
    out: Path,
    *,
    results_dir: Path,
    tables: Sequence[str] = tuple(TABLES),
    figures: Sequence[str] = tuple(FIGURES),
) -> list[str]:
    """Write the tables and figures of a suite, from its records and stored predictions; nothing is fitted.

    Parameters
    ----------
    suite_path : Path
        The suite's file.
    out : Path
        The folder; created when absent. Files of the same names are replaced, others stay.
    results_dir : Path
        Where the workflow has written.
    tables : sequence of str
        Any of ``tex`` (with the rules of booktabs), ``md`` and ``csv`` (raw and unrounded).
    figures : sequence of str
        Any of ``svg``, ``png`` and ``pdf``.

    Returns
    -------
    list of str
        The names of the files, sorted.

    Raises
    ------
    ReportError
        For an unknown ending, and where the suite has no record.
    SuiteError
        If the file is not a valid suite.
    OSError
        If the folder cannot be written; it is then as it was.
    """
    for chosen, known in ((tables, TABLES), (figures, FIGURES)):
        if unknown := [ending for ending in chosen if ending not in known]:
            raise ReportError(f"no format {unknown[0]!r}; there are: {', '.join(known)}")
    inputs = read_inputs([suite_path], results_dir, check_code=True)
    suite = inputs.suites[0]
    if not inputs.records:
        raise ReportError(
            f"no current record of {suite.name} in {results_dir}: run snakemake {suite.name}, "
            "or name --results-dir"
        )
    groups = group_runs(inputs.plans, inputs.records, results_dir=results_dir)
    text = suite_path.read_text(encoding="utf-8")
    (view,) = sections.suite_views(
        [suite], groups, leaderboards([suite], groups), {suite.name: (suite_path.name, text)}
    )
    files = {
        f"{table.name}.{ending}": TABLES[ending](table).encode()
        for table in paper_tables(view)
        for ending in tables
    } | {
        f"{picture.key}.{ending}": FIGURES[ending](picture)
        for _, picture in view.pictures
        for ending in figures
    }
    with replacing_entries(out) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
    return sorted(files)
