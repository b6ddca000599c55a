"""Imports in several processes: the same store as by one, and what goes wrong in a helper."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlflow import MlflowClient

from eigenbench.bench.suites.suite import Suite
from eigenbench.tracking import import_records, shares
from eigenbench.tracking.entries import Entry
from eigenbench.tracking.errors import TrackingUnavailable
from eigenbench.tracking.known import Group
from eigenbench.tracking.shares import helpers, shares_of, size_of

pytestmark = pytest.mark.workflow

EXPERIMENTS = ("first", "second", "third")


@pytest.fixture
def small_shares(monkeypatch):
    monkeypatch.setattr(shares, "_RECORDS_OF_A_SHARE", 2)


@pytest.fixture
def suite():
    experiment = {
        "dataset": "digits",
        "methods": {"gem": {"steps": ["GEM"]}},
        "classifiers": {"LogisticRegression": {"component": "LogisticRegression"}},
        "seeds": (0, 1),
    }
    experiments = {name: experiment | {"title": name} for name in EXPERIMENTS}
    return Suite.model_validate({"name": "tiny", "title": "A suite", "experiments": experiments})


@pytest.fixture
def paths(results):
    return [
        results.record(2 * place + seed, experiment=name, run_key=f"{2 * place + seed:016x}")
        for place, name in enumerate(EXPERIMENTS)
        for seed in (0, 1)
    ]


def entry(suite, experiment, number):
    path = Path(f"{suite}/{experiment}/{number}")
    return Entry(path, suite, Group(experiment, "gem", "lr"), str(number), "", 0, 0)


@given(
    st.dictionaries(st.tuples(st.sampled_from("ab"), st.sampled_from("cdef")), st.integers(1, 300)),
    st.integers(1, 4),
)
def test_every_record_is_in_one_share_with_its_whole_experiment(sizes, processes):
    entries = {}
    for (suite, experiment), size in sizes.items():
        entries.setdefault(suite, []).extend(entry(suite, experiment, number) for number in range(size))
    found = shares_of(entries, processes)
    assert 1 <= len(found) <= processes
    placed = [one.path for share in found for of_suite in share.values() for one in of_suite]
    assert sorted(placed) == sorted(one.path for of_suite in entries.values() for one in of_suite)
    homes = [(suite, one.group.experiment) for share in found for suite in share for one in share[suite]]
    whole = [{(suite, one.group.experiment) for suite in share for one in share[suite]} for share in found]
    assert sum(map(len, whole)) == len(set(homes))
    assert max(map(size_of, found)) - min(map(size_of, found)) <= max(sizes.values(), default=0)


def test_few_records_are_imported_by_one_process():
    entries = {"a": [entry("a", str(number), number) for number in range(79)]}
    assert shares_of(entries, 2) == [entries]
    assert len(shares_of({"a": [*entries["a"], entry("a", "more", 79)]}, 2)) == 2


def contents(uri, summary):
    """Return what the store shows of each run and summary, whatever MLflow calls them."""
    client = MlflowClient(uri)
    names = {run_id: name for name, run_id in (summary.run_ids | summary.summary_ids).items()}
    found = {}
    for run in client.search_runs(list(summary.experiment_ids.values()), max_results=1000):
        tags = {key: re.sub(r"[0-9a-f]{32}", "…", value) for key, value in run.data.tags.items()}
        tags.pop("imported_at")
        tags["mlflow.parentRunId"] = names.get(run.data.tags.get("mlflow.parentRunId"))
        files = sorted(one.path for one in client.list_artifacts(run.info.run_id))
        name = names.get(run.info.run_id, run.info.run_name)
        found[name] = (run.info.status, tags, run.data.params, run.data.metrics, files)
    return found, client.get_experiment_by_name("tiny").tags


def test_two_processes_leave_the_store_of_one(results, paths, suite, empty_store, tmp_path, small_shares):
    stores = []
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        folder.mkdir()
        (folder / "mlflow.db").write_bytes(empty_store.read_bytes())
        uri = f"sqlite:///{folder / 'mlflow.db'}"
        summary = import_records(
            paths,
            results_dir=results.folder,
            tracking_uri=uri,
            suites=[suite],
            progress=False,
            processes=processes,
        )
        assert (summary.imported, summary.failed) == (6, {})
        assert len(summary.run_ids) == 6
        assert len(summary.summary_ids) == 3
        stores.append(contents(uri, summary))
    assert stores[0] == stores[1]
    assert len(stores[0][0]) == 6 + 3 + 3


def test_what_one_process_cannot_import_is_in_the_summary(results, paths, suite, store_uri, small_shares):
    for path in paths:
        path.write_text(path.read_text().replace("0.97", "0.99"))
    summary = import_records(
        paths, results_dir=results.folder, tracking_uri=store_uri, suites=[suite], progress=False, processes=2
    )
    assert sorted(summary.failed) == sorted(map(str, paths))


def test_a_helper_that_fails_says_why():
    def work(share):
        raise TrackingUnavailable("no disk")

    with pytest.raises(TrackingUnavailable, match="no disk"), helpers([{}], work) as (helper,):
        helper.result()


def test_a_helper_that_is_killed_is_named():
    def work(share):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(TrackingUnavailable, match="exit code -9"), helpers([{}], work) as (helper,):
        helper.result()


def test_helpers_are_stopped_with_the_import():
    with pytest.raises(RuntimeError), helpers([{}], lambda share: time.sleep(600)) as (helper,):
        raise RuntimeError
    assert helper.process.exitcode == -signal.SIGTERM


_IMPORT = """
    import sys
    from pathlib import Path
    from eigenbench.bench.suites.suite import Suite
    from eigenbench.tracking import import_records, shares
    shares._RECORDS_OF_A_SHARE = 2
    content, results, uri, *paths = sys.argv[1:]
    suite = Suite.model_validate_json(content)
    import_records(paths, results_dir=results, tracking_uri=uri, suites=[suite], processes=2)
"""


@pytest.mark.parametrize("runs_to_see", [1, 4])
def test_helpers_end_with_a_killed_import_and_the_next_completes_it(
    results, paths, suite, store_uri, small_shares, runs_to_see
):
    content = suite.model_dump_json(exclude_unset=True)
    arguments = [content, str(results.folder), store_uri, *map(str, paths)]
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(_IMPORT), *arguments])
    client = MlflowClient(store_uri)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        experiment = client.get_experiment_by_name("tiny")
        if experiment and len(client.search_runs([experiment.experiment_id])) >= runs_to_see:
            break
    process.kill()
    process.wait()
    summary = import_records(
        paths, results_dir=results.folder, tracking_uri=store_uri, suites=[suite], progress=False, processes=2
    )
    assert summary.failed == {}
    runs, _ = contents(store_uri, summary)
    assert len(runs) == 6 + 3 + 3
    assert {status for status, *_ in runs.values()} == {"FINISHED"}
    found = client.search_runs(list(summary.experiment_ids.values()))
    assert len(found) == 12
