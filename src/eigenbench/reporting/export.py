"""The tables and figures of a suite as files for papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from eigenbench.atomic_files import replacing_entries
from eigenbench.reporting import sections
from eigenbench.reporting.errors import ExportError
from eigenbench.reporting.inputs import read_inputs
from eigenbench.reporting.leaderboard import leaderboards
from eigenbench.reporting.paper_tables import PaperTable, paper_tables
from eigenbench.reporting.pictures import Picture
from eigenbench.reporting.run_groups import group_runs

#: How a table is written, by the ending of its file.
TABLES: dict[str, Callable[[PaperTable], str]] = {
    "tex": PaperTable.latex,
    "md": PaperTable.markdown,
    "csv": lambda table: table.csv,
}
#: How a figure is written, by the ending of its file.
FIGURES: dict[str, Callable[[Picture], bytes]] = {
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
    ExportError
        For an unknown ending, and where the suite has no record.
    SuiteError
        If the file is not a valid suite.
    OSError
        If the folder cannot be written; it is then as it was.
    """
    for chosen, known in ((tables, TABLES), (figures, FIGURES)):
        if unknown := [ending for ending in chosen if ending not in known]:
            raise ExportError(f"no format {unknown[0]!r}; there are: {', '.join(known)}")
    inputs = read_inputs([suite_path], results_dir)
    (suite,) = inputs.suites
    if not inputs.records:
        raise ExportError(
            f"no current record of {suite.name} in {results_dir}: run snakemake {suite.name}, "
            "or name --results-dir"
        )
    groups = group_runs([suite], inputs.records, results_dir=results_dir)
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
