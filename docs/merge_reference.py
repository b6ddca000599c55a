"""Put results into the reference of a suite whose experiments were run at several times or places.

``python docs/merge_reference.py SUITE.yaml`` takes the lines of ``reports/results.csv`` and
``reports/leaderboard.csv`` that belong to the suite, replaces those of the same runs, or of other settings of
the same methods, in the reference, and ranks the methods anew from all results that are then there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from eigenbench.atomic_files import replacing_entries
from eigenbench.bench.jobs.job_context import dataset_info
from eigenbench.bench.jobs.plan import SuitePlan, load_plan
from eigenbench.bench.suites.suite import Suite
from eigenbench.reporting.leaderboard import WITHOUT_RECORD
from eigenbench.reporting.reference_results import DATASETS, records_of_results
from eigenbench.reporting.replicates import group_runs
from eigenbench.reporting.suite_ranks import SuiteRanks, pairs_csv, ranks_csv, suite_ranks
from eigenbench.reproduction.reference import default_reference_folder

#: A reason for a result that is absent, with a path of the machine.
_MACHINE_PATH = r"(no (?:file|folder)[^/]*?)(?: below)? /\S+"


def ranks_of_results(plan: SuitePlan, folder: Path) -> list[SuiteRanks]:
    """Compare the methods of a suite over its datasets from the result files of a folder alone."""
    records = records_of_results(plan, folder)
    found = {record.experiment for record in records}
    experiments = {name: spec for name, spec in plan.suite.experiments.items() if name in found}
    part = replace(plan, suite=plan.suite.model_copy(update={"experiments": experiments}))
    return suite_ranks(part.suite, group_runs([part], records))


def merge(plan: SuitePlan, reports: Path, folder: Path) -> list[str]:
    """Replace the results of a suite in the folder of its reference by a report's, and rank anew.

    Runs that were not made keep the results that they have there. Returns the datasets. Raises `ValueError`
    if the report has no result of the suite.
    """
    suite = plan.suite
    results = read_results(reports / "results.csv").query("suite == @suite.name")
    if results.empty:
        raise ValueError(f"{reports / 'results.csv'}: no result of suite {suite.name!r}")
    known = _made_before(plan, folder, results)
    results = results[~results["run_key"].isin(known)]
    kept = _kept(plan, folder, results)
    parts = dict(tuple(results.groupby("dataset")))
    for dataset, rows in parts.items():
        name = f"results_{dataset}.csv"
        kept[name] = pd.concat([kept[name], rows]) if name in kept else rows
    with replacing_entries(folder) as new:
        for name, rows in kept.items():
            _write(new / name, rows)
        as_before = {run.experiment for run in plan.runs if run.key in known}
        if not (boards := _boards(suite, reports, folder, as_before)).empty:
            _write(new / "leaderboard.csv", boards)
    if ranks := ranks_of_results(plan, folder):
        with replacing_entries(folder) as new:
            (new / "ranks.csv").write_text(ranks_csv(ranks), encoding="utf-8")
            (new / "pairs.csv").write_text(pairs_csv(ranks), encoding="utf-8")
    return list(parts)


def _made_before(plan: SuitePlan, folder: Path, results: pd.DataFrame) -> set[str]:
    """Return the keys of runs that were not made now and have results in the reference."""
    not_made = set(results.query("status == 'not_run'")["run_key"])
    tables = [read_results(path).query("status == 'ok'") for path in folder.glob("results*.csv")]
    return not_made & {key for table in tables for key in table["run_key"]}


def _kept(plan: SuitePlan, folder: Path, results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return what stays of the result files: other methods, and other runs that the suite still asks for."""
    methods = ["dataset", "method", "classifier"]
    new = pd.MultiIndex.from_frame(results[methods])
    asked = {run.key for run in plan.runs} - set(results["run_key"])
    found = {}
    for path in sorted(folder.glob("results*.csv")):
        old = read_results(path)
        found[path.name] = old[old["run_key"].isin(asked) | ~pd.MultiIndex.from_frame(old[methods]).isin(new)]
    return found


def _boards(suite: Suite, reports: Path, folder: Path, as_before: set[str]) -> pd.DataFrame:
    """Return old and new leaderboards; experiments of which the report has a part only stay as they were."""
    board = read_results(reports / "leaderboard.csv").query("suite == @suite.name")
    in_mirror = board["without_result"].str.replace(_MACHINE_PATH, r"\1 in the mirror", regex=True)
    board = board.assign(without_result=in_mirror)
    incomplete = board.loc[board["without_result"].str.contains(WITHOUT_RECORD), "experiment"]
    new = board[~board["experiment"].isin([*incomplete, *as_before])]
    boards = [new]
    if (folder / "leaderboard.csv").exists():
        old = read_results(folder / "leaderboard.csv")
        boards.append(old[~old["experiment"].isin(new["experiment"])])
    order = {name: number for number, name in enumerate(suite.experiments)}
    return pd.concat(boards).sort_values("experiment", key=lambda names: names.map(order), kind="stable")


def read_results(path: Path) -> pd.DataFrame:
    """Read a table as text, so that no digit is lost."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def write_digests(plan: SuitePlan, data_dir: Path, folder: Path) -> None:
    """Write the digests of the prepared data of a suite into its reference; those of other data stay."""
    path = folder / DATASETS
    digests = {row["name"]: row for row in read_results(path).to_dict("records")} if path.exists() else {}
    for name in dict.fromkeys(spec.dataset for spec in plan.suite.experiments.values()):
        prepared = data_dir / "prepared" / f"{name}.json"
        state = json.loads(prepared.read_bytes()) if prepared.exists() else {"card": None}
        if state["card"]:
            digests[name] = dataset_info(state).model_dump(include={"name", "sha256", "n_train", "n_test"})
    if digests:
        _write(path, pd.DataFrame(list(digests.values()), columns=["name", "sha256", "n_train", "n_test"]))


def _write(path: Path, table: pd.DataFrame) -> None:
    table.to_csv(path, index=False, lineterminator="\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Merge the report into the reference; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path, help="file of the suite")
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="folder of the report")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the data")
    options = parser.parse_args(arguments)
    try:
        plan = load_plan(options.suite)
        if plan.suite.name == "quick":
            raise ValueError(
                "quick is in reports/reference, not in a folder of its own: copy its report there"
            )
        folder = default_reference_folder() / plan.suite.name
        datasets = merge(plan, options.reports, folder)
        write_digests(plan, options.data, folder)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{plan.suite.name}: {', '.join(datasets)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
