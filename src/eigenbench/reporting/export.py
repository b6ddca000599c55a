"""Tables and figures of a suite as files for papers: LaTeX, Markdown, CSV, SVG, PNG and PDF."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from eigenbench.atomic_files import replacing_entries
from eigenbench.reporting import ReportError
from eigenbench.reporting.captioned_figures import CaptionedFigure
from eigenbench.reporting.csv_files import frame_csv
from eigenbench.reporting.inputs import read_inputs
from eigenbench.reporting.leaderboard import COLUMNS
from eigenbench.reporting.page_tables import pairs_table, published_table, ranks_table
from eigenbench.reporting.published import comparison_csv
from eigenbench.reporting.sections import SuiteView, suite_views
from eigenbench.reporting.shown_table import ShownTable, escape_markdown
from eigenbench.reporting.suite_ranks import pairs_csv, ranks_csv


def paper_tables(view: SuiteView) -> Iterator[tuple[ShownTable, str]]:
    """Yield the tables of a suite, each with its raw numbers as CSV."""
    if view.comparisons:
        shown = published_table(f"{view.suite.name}-published", view.comparisons)
        yield shown, comparison_csv(view.comparisons)
    for experiment in view.experiments:
        yield experiment.leaderboard, frame_csv([experiment.board], COLUMNS)
    for ranks, _ in view.ranks:
        if not ranks.refusal:
            yield ranks_table(ranks), ranks_csv([ranks])
            yield pairs_table(ranks), pairs_csv([ranks])


#: How a table and a figure are written, by the ending of the file.
TABLES: dict[str, Callable[[ShownTable, str], str]] = {
    "tex": lambda shown, csv: shown.latex(),
    "md": lambda shown, csv: shown.markdown(),
    "csv": lambda shown, csv: csv,
}
FIGURES: dict[str, Callable[[CaptionedFigure], bytes]] = {
    "svg": lambda picture: picture.svg_file.encode(),
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

    Returns the names of the files, sorted; ``figures.md`` has the captions. LaTeX needs booktabs; CSV is raw.
    Raises `ReportError` for an unknown ending, and where the suite has no record.
    """
    for chosen, known in ((tables, TABLES), (figures, FIGURES)):
        if unknown := [ending for ending in chosen if ending not in known]:
            raise ReportError(f"no format {unknown[0]!r}; there are: {', '.join(known)}")
    inputs = read_inputs([suite_path], results_dir, warn=True)
    suite = inputs.suites[0]
    if not inputs.records:
        raise ReportError(
            f"no current record of {suite.name} in {results_dir}: run snakemake {suite.name}, "
            "or name --results-dir"
        )
    (view,) = suite_views(inputs)
    files = {
        f"{shown.name}.{ending}": TABLES[ending](shown, csv).encode()
        for shown, csv in paper_tables(view)
        for ending in tables
    } | {
        f"{picture.key}.{ending}": FIGURES[ending](picture) for picture in view.pictures for ending in figures
    }
    if figures:
        texts = {picture.key: picture.alt if picture.title else picture.caption for picture in view.pictures}
        lines = [f"- `{key}`: {escape_markdown(text)}" for key, text in texts.items()]
        files["figures.md"] = "\n".join([f"# Figures of {suite.title}\n", *lines, ""]).encode()
    with replacing_entries(out) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
    return sorted(files)
