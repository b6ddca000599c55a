"""Import records into MLflow: each becomes one run, also after a killed import and beside other imports."""

from __future__ import annotations

import contextlib
import gc
import random
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from eigenbench.bench.records.record import RecordError
from eigenbench.bench.suites.suite import Suite
from eigenbench.tracking import store
from eigenbench.tracking.checked_models import UnfitRecord
from eigenbench.tracking.databases import sqlite_path
from eigenbench.tracking.entries import ImportSummary, readable
from eigenbench.tracking.known import known_runs, source_of
from eigenbench.tracking.shares import Share, Watch, helpers, shares_of, size_of
from eigenbench.tracking.suite_import import Settings, SuiteImport, experiment_of
from eigenbench.tracking.summarizer import summarize_import
from eigenbench.tracking.unchanged import is_unchanged

if TYPE_CHECKING:
    from mlflow import MlflowClient

# Imports that cross each other settle in two or three tries; what is refused for good is an error after all.
_TRIES = 8
_SECONDS_APART = 0.5


def import_records(
    paths: Iterable[Path | str],
    *,
    results_dir: Path | str,
    reports_dir: Path | str = "reports",
    tracking_uri: str | None = None,
    suites: Iterable[Suite] = (),
    all_models: bool = False,
    progress: bool = True,
    processes: int = 1,
) -> ImportSummary:
    """Bring records into an MLflow store; what is there already stays as it is.

    A run counts as imported when it has ended; that is set last. Runs that a killed import left open are
    removed and made again. A record whose bytes have changed replaces its run once the new one is whole.
    Several results folders may be imported into one database or server at the same time: of runs with the
    same key the latest stays.

    The runs that differ only in their seeds stand below one that summarizes them, from whichever folder they
    come; each experiment has one more with its figures. Both are written again when a run is added or
    replaced, or the suite's published numbers change.

    Parameters
    ----------
    paths : iterable of paths
        Record files, usually ``<results_dir>/<suite>/<experiment>/…/record.json``.
    results_dir : path
        The folder that the models' paths in the records start from.
    reports_dir : path
        The folder of the reports, which descriptions name.
    tracking_uri : str, optional
        The store; by default ``MLFLOW_TRACKING_URI``, else ``sqlite:///mlflow.db``.
    suites : iterable of Suite
        The suites of the records, as far as their files are at hand: they have the published numbers.
    all_models : bool
        Whether to store the model of every run; by default that of the best seed of each method and
        classifier.
    progress : bool
        Whether to show a progress line on stderr, if that is a terminal.
    processes : int
        How many processes may import experiments of suites that are at hand into an SQLite store.

    Returns
    -------
    ImportSummary

    Raises
    ------
    TrackingUnavailable
        If the store cannot be reached or written. What was imported until then is kept.
    TrackingError
        If the address is one that MLflow does not accept.

    Notes
    -----
    Takes about 35 ms of processor time a record, 60 ms a method and classifier with a small model, and 2 ms
    for a record that is there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from eigenbench.tracking import import_records
    >>> records = Path("results/quick").glob("**/record.json")
    >>> import_records(records, results_dir="results").imported  # doctest: +SKIP
    120
    """
    settings = Settings(store.resolve_uri(tracking_uri), Path(results_dir), Path(reports_dir), all_models)
    summary = ImportSummary(store.shown_uri(settings.uri))
    by_name = {suite.name: suite for suite in suites}
    with store.one_import(settings.uri, settings.results_dir):
        entries = readable(paths, summary)
        if is_unchanged(entries, by_name, settings, summary):
            return summary
        alone = sqlite_path(settings.uri) is None or not entries.keys() <= by_name.keys()
        own, *others = shares_of(entries, 1 if alone else processes)
        hidden = None if progress else True
        with _rarely_collecting():
            if others:
                # Processes share no connection: all are closed before the others begin.
                with store.open_store(settings.uri) as client:
                    for name in entries:
                        experiment_of(client, settings.uri, name)
            with (
                helpers(others, partial(_import_share, settings, by_name)) as helping,
                store.open_store(settings.uri) as client,
                tqdm(
                    desc="mlflow", unit=" records", total=size_of(entries), disable=hidden, mininterval=2
                ) as bar,
            ):
                _import(client, settings, summary, by_name, own, bar)
                for helper in helping:
                    summary.add(helper.result())
                    bar.update(size_of(helper.share))
    return summary


def _import_share(settings: Settings, suites: Mapping[str, Suite], share: Share) -> ImportSummary:
    """Import a share in a process of its own."""
    summary = ImportSummary(store.shown_uri(settings.uri))
    with (
        store.unavailable_on_failure(settings.uri, settings.results_dir),
        store.open_store(settings.uri) as client,
    ):
        _import(client, settings, summary, suites, share, Watch())
    return summary


def _import(
    client: MlflowClient,
    settings: Settings,
    summary: ImportSummary,
    suites: Mapping[str, Suite],
    share: Share,
    bar: tqdm[Any] | Watch,
) -> None:
    for name, entries in share.items():
        _import_suite(SuiteImport(client, settings, summary, name, entries, suites.get(name)), bar)


def _import_suite(one: SuiteImport, bar: tqdm[Any] | Watch) -> None:
    """Import the records of a suite, and bring its summaries up to date."""
    for entry in one.entries:
        try:
            one.add(entry)
        except (RecordError, UnfitRecord) as error:
            one.summary.fail(entry.path, error)
        bar.update()
    if sqlite_path(one.settings.uri) is not None:
        summarize_import(one)
        return
    _summarize_among_others(one)


def _summarize_among_others(one: SuiteImport) -> None:
    """Bring the summaries up to date in a store that other imports may write at the same time.

    Each import looks again after it has written, so the last one sees what all have left, and puts it right.
    Imports that write into the same summary may make MLflow refuse one of them, which then tries again. While
    others go on adding runs it stops after some tries, as they summarize all at their end.
    """
    from mlflow.exceptions import MlflowException

    written = None
    for tries_left in reversed(range(_TRIES)):
        one.look_again()
        if one.known.run_ids() == written:
            return
        try:
            summarize_import(one)
            written = one.known.run_ids()
        except MlflowException:
            if not tries_left:
                raise
            written = None
            time.sleep(random.uniform(0, _SECONDS_APART))


def compare_records(
    paths: Iterable[Path | str], *, results_dir: Path | str, tracking_uri: str | None = None
) -> ImportSummary:
    """Return what `import_records` would do, without writing anything.

    Parameters, errors and result are those of `import_records`; what would fail because of a damaged model
    is not seen.
    """
    uri = store.resolve_uri(tracking_uri)
    folder = Path(results_dir)
    summary = ImportSummary(store.shown_uri(uri))
    with _rarely_collecting(), store.read_store(uri, folder) as client:
        for suite, entries in readable(paths, summary).items():
            experiment = client.get_experiment_by_name(suite) if client else None
            known = {}
            if client and experiment and experiment.lifecycle_stage == "active":
                summary.experiment_ids[suite] = experiment.experiment_id
                names = {entry.group.experiment for entry in entries}
                known = known_runs(client, experiment.experiment_id, source_of(folder), names).runs
            for entry in entries:
                summary.count(entry, known.get(entry.key, []))
    return summary


@contextlib.contextmanager
def _rarely_collecting() -> Iterator[None]:
    """Look for garbage a hundred times less often: loading MLflow makes none, and takes a tenth less time."""
    found = gc.get_threshold()
    gc.set_threshold(100 * found[0], *found[1:])
    try:
        yield
    finally:
        gc.set_threshold(*found)
