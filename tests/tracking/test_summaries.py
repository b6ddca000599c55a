"""The runs above the runs: what the seeds of a method say together, and which model is kept."""

import csv
import re
import shutil
import statistics
from pathlib import Path

import numpy as np
import pytest
from mlflow import MlflowClient, pyfunc
from record_files import plan_of
from scipy.stats import t as student_t
from store_runs import dump, runs_of

from eigenbench.bench.records.record import read_record
from eigenbench.bench.suites.suite import Suite
from eigenbench.comparison.differences import OVER_SEEDS_AND_ROWS
from eigenbench.reporting.leaderboard import leaderboard

pytestmark = pytest.mark.workflow

GEM = "tiny/main/gem/LogisticRegression"


def suite(published=0.03, **fields):
    """Return a suite with a published error of gem."""
    number = {"source": "A table", "method": "gem", "metric": "test_error", "value": published, **fields}
    experiment = {
        "dataset": "digits",
        "title": "Digits",
        "methods": {"gem": {"steps": ["GEM"]}, "pca": {"steps": ["PCA"]}},
        "classifiers": {"LogisticRegression": {"component": "LogisticRegression"}},
        "seeds": (0, 1, 2),
        "published": [number],
    }
    return Suite.model_validate({"name": "tiny", "title": "A suite", "experiments": {"main": experiment}})


@pytest.fixture
def bring(results, store_uri):
    """Return a function that imports records and gives the import's summary."""

    def run(paths, *suites, **options):
        return results.bring(paths, store_uri, plans=list(map(plan_of, suites)), **options)

    return run


def keys_of(plan):
    return {(run.method, run.seed): run.key for run in plan.runs}


@pytest.fixture
def three_of_each(results):
    planned = keys_of(plan_of(suite()))
    paths = []
    for method, errors in {"gem": [0.02, 0.03, 0.025], "pca": [0.05, 0.04, 0.06]}.items():
        for seed, error in enumerate(errors):
            fields = {"run_key": planned[method, seed], "metrics": {"test_error": error}}
            paths.append(results.record(seed, method=method, train_seconds=0.25, **fields))
    return paths


def test_a_parent_says_what_its_seeds_say_together(bring, three_of_each, store_uri):
    done = bring(three_of_each, suite())
    client = MlflowClient(store_uri)
    gem = client.get_run(done.summary_ids[GEM])
    values = [2.0, 3.0, 2.5]
    share = 449 / 1797  # of the test rows of two seeds: each draws a quarter of digits
    width = (1 / len(values) + share / (1 - share)) ** 0.5
    half = student_t.ppf(0.975, 2) * statistics.stdev(values) * width
    shown = gem.data.metrics
    assert shown["mean"] == pytest.approx(2.5)
    assert (shown["ci_low"], shown["ci_high"]) == pytest.approx((2.5 - half, 2.5 + half), rel=1e-5)
    assert (shown["published"], shown["rank"], shown["seeds"]) == (3.0, 1, 3)
    assert gem.data.tags["interval"] == f"[{2.5 - half:.2f}, {2.5 + half:.2f}]"
    assert gem.data.tags["verdict"] == "reproduced †"
    assert shown["train_s"] == 0.75
    assert gem.data.tags["metric"] == "test error (%)"
    assert gem.data.tags["published_in"] == "A table"
    note = gem.data.tags["mlflow.note.content"]
    assert re.search(r"\| A table[^|]*\| GEM[^|]*\| Test error \(%\) *\| *3 \| *2\.50 ", note)
    assert "/tiny/main/gem/seed-{0,1,2}/LogisticRegression/record.json`" in note
    pca = client.get_run(done.summary_ids["tiny/main/pca/LogisticRegression"])
    assert pca.data.metrics["rank"] == 2
    assert "verdict" not in pca.data.tags
    below = [run for run in runs_of(store_uri) if run.data.tags["mlflow.parentRunId"] == gem.info.run_id]
    assert gem.info.run_name == "GEM · Main on Digits · logistic regression"
    names = [f"seed {seed} · {gem.info.run_name}" for seed in range(3)]
    assert sorted(run.info.run_name for run in below) == names
    assert {link for run in below if (link := run.info.run_id) in note} == {run.info.run_id for run in below}
    whole, *parts = (run.info.end_time - run.info.start_time for run in (gem, *below))
    assert whole == sum(parts)


def test_the_tie_group_is_that_of_the_leaderboard(bring, results, store_uri):
    generator = np.random.default_rng(0)
    truth = generator.integers(10, size=450)
    hard = generator.random(450) < 0.04
    of_three = suite().model_dump(exclude_defaults=True)
    of_three["experiments"]["main"]["methods"]["random"] = {"steps": ["RandomDirections"]}
    compared = Suite.model_validate(of_three)
    plan = plan_of(compared)
    keys = keys_of(plan)
    paths, n_seeds = [], 3
    for method, extra in {"gem": 0, "pca": 1, "random": 60}.items():
        for seed in range(n_seeds):
            wrong = hard.copy()
            wrong[generator.choice(450, size=extra + seed % 2, replace=False)] = True
            key = keys[method, seed]
            error = {"test_error": float(wrong.mean())}
            paths.append(results.record(seed, method=method, run_key=key, metrics=error))
            folder = results.folder / f"tiny/main/{method}/seed-{seed}/LogisticRegression"
            folder.mkdir(parents=True)
            np.savez(folder / "predictions.npz", truth=truth, predicted=np.where(wrong, 10, truth))
    done = bring(paths, compared)
    board = leaderboard(plan, "main", [read_record(path) for path in paths], results.folder)
    assert set(board["compared_over"]) == {OVER_SEEDS_AND_ROWS}
    client = MlflowClient(store_uri)
    shown = {}
    for line in board.to_dict("records"):
        run = client.get_run(done.summary_ids[f"tiny/main/{line['method']}/LogisticRegression"])
        assert run.data.metrics["rank"] == line["rank"]
        if line["rank"] > 1:
            assert run.data.metrics["tie_p"] == pytest.approx(line["p_value"], rel=1e-5)
        assert run.data.metrics["mean"] == pytest.approx(100 * line["mean"], rel=1e-5)
        assert run.data.metrics["ci_high"] == pytest.approx(100 * line["ci_high"], rel=1e-5)
        assert run.data.tags["compared_over"] == OVER_SEEDS_AND_ROWS
        assert run.data.metrics["tied"] == float(line["tied"])
        shown[line["method"]] = run.data.tags["tie_group"]
    assert shown == {"gem": "best", "pca": "best", "random": "behind"}
    (overview,) = runs_of(store_uri, "overview")
    assert "| 2 = | [PCA" in overview.data.tags["mlflow.note.content"]


def test_a_seed_more_changes_the_parent_and_no_other_run_comes(bring, three_of_each, store_uri):
    before = bring([path for path in three_of_each if "seed-2" not in path.parts], suite())
    partial = MlflowClient(store_uri).get_run(before.summary_ids[GEM])
    assert partial.data.tags["status"] == "2 of 3 seeds"
    assert "rank" not in partial.data.metrics, "not all seeds are there to be ranked by"
    after = bring(three_of_each, suite())
    assert after.summary_ids.keys() == before.summary_ids.keys()
    assert len(runs_of(store_uri, "summary")) == 2
    assert len(runs_of(store_uri, "overview")) == 1
    run = MlflowClient(store_uri).get_run(after.summary_ids[GEM])
    assert (run.data.metrics["seeds"], run.data.tags["status"]) == (3, "ok")


def test_only_planned_runs_count(bring, three_of_each, results, store_uri):
    bring([results.record(seed, method=method) for method in ("gem", "gone") for seed in (3, 4)])
    before = bring(three_of_each, suite())
    assert MlflowClient(store_uri).get_run(before.summary_ids[GEM]).data.metrics["seeds"] == 3
    assert len(runs_of(store_uri)) == 10
    assert len(runs_of(store_uri, "summary")) == 2


def test_without_the_suite_file_summaries_made_with_it_stay(bring, three_of_each, store_uri, capsys):
    before = bring(three_of_each[:5], suite()).summary_ids
    bring(three_of_each)
    assert "--suites-dir" in capsys.readouterr().err
    runs = runs_of(store_uri, "summary")
    assert {run.info.run_id for run in runs} == set(before.values())


def test_another_published_number_changes_the_verdict_alone(bring, three_of_each, store_uri):
    bring(three_of_each, suite())
    done = bring(three_of_each, suite(published=0.0001))
    assert done.unchanged == 6
    run = MlflowClient(store_uri).get_run(done.summary_ids[GEM])
    assert (run.data.tags["verdict"], run.data.metrics["published"]) == ("off", 0.01)
    before = dump(store_uri)
    bring(three_of_each, suite(published=0.0001))
    assert dump(store_uri) == before
    done = bring(three_of_each, suite(published=0.9, bound=True))
    assert MlflowClient(store_uri).get_run(done.summary_ids[GEM]).data.tags["verdict"] == "within bound"


def test_when_all_seeds_fail_the_parent_shows_no_number_that_was(bring, results, store_uri):
    bring([results.record(0)])
    done = bring([results.failed_record(0)])
    (run,) = runs_of(store_uri, "summary")
    assert run.info.run_id == done.summary_ids[GEM]
    assert run.data.metrics == {"seeds": 0}
    assert (run.info.status, run.data.tags["status"]) == ("FAILED", "failed")
    assert "input has NaN" in run.data.tags["mlflow.note.content"]
    (child,) = runs_of(store_uri)
    assert child.data.tags["mlflow.parentRunId"] == run.info.run_id


def test_seeds_of_another_folder_count_too(bring, results, tmp_path, store_uri):
    first = results.record(0, metrics={"test_error": 0.02})
    elsewhere = tmp_path / "elsewhere"
    second = results.record(1, metrics={"test_error": 0.04})
    shutil.copytree(results.folder, elsewhere)
    bring([elsewhere / second.relative_to(results.folder)], results_dir=elsewhere)
    done = bring([first])
    (run,) = runs_of(store_uri, "summary")
    assert run.info.run_id == done.summary_ids[GEM]
    assert (run.data.metrics["mean"], run.data.metrics["seeds"]) == (3.0, 2)
    below = runs_of(store_uri)
    assert [one.data.tags["mlflow.parentRunId"] for one in below] == [run.info.run_id] * 2


def models_of(uri):
    client = MlflowClient(uri)
    found = client.search_logged_models([client.get_experiment_by_name("tiny").experiment_id])
    return sorted(model.params["seed"] for model in found)


def test_only_the_best_seed_keeps_its_model_unless_all_are_asked_for(bring, results, store_uri):
    paths = [results.record(seed, metrics={"test_error": 0.04 - 0.01 * seed}) for seed in range(3)]
    bring(paths[:2])
    assert models_of(store_uri) == ["1"]
    done = bring(paths)
    assert models_of(store_uri) == ["1", "2"], "the earlier best keeps its model"
    run = MlflowClient(store_uri).get_run(done.summary_ids[GEM])
    assert pyfunc.load_model(run.data.tags["best_model"]).metadata.signature is not None
    bring(paths, all_models=True)
    assert models_of(store_uri) == ["0", "1", "2"]


def test_the_best_is_chosen_on_validation_rows_where_there_are_any(bring, results, store_uri):
    first = {"test_error": 0.01, "validation_error": 0.05}
    second = {"test_error": 0.02, "validation_error": 0.04}
    bring([results.record(0, metrics=first), results.record(1, metrics=second)])
    assert models_of(store_uri) == ["1"]


def test_an_experiment_is_described_and_its_figures_are_drawn(bring, three_of_each, store_uri):
    done = bring(three_of_each, suite())
    client = MlflowClient(store_uri)
    tags = client.get_experiment_by_name("tiny").tags
    assert tags["mlflow.note.content"].startswith("**A suite**")
    assert "`snakemake tiny`" in tags["mlflow.note.content"]
    (overview,) = runs_of(store_uri, "overview")
    note = overview.data.tags["mlflow.note.content"]
    links = done.summary_ids
    gem, pca = (
        f"[{name.upper()}](#/experiments/1/runs/{links[f'tiny/main/{name}/LogisticRegression']}"
        "?workflowType=machine_learning)"
        for name in ("gem", "pca")
    )
    assert note.index(f"| 1 | {gem} | 2.50 |") < note.index(f"| 2 | {pca} |")
    assert "Published in: A table" in note
    names = ("methods.csv", "published.csv")
    files = [client.download_artifacts(overview.info.run_id, name) for name in names]
    (header, first, _), published = (list(csv.reader(Path(file).read_text().splitlines())) for file in files)
    assert header[:4] == ["rank", "method", "test error (%)", "verdict"], "four are seen at 1,440 pixels"
    assert header[4:6] == ["95 % interval", "published"]
    assert first[:4] + first[5:6] == ["1", "GEM", "2.50", "reproduced †", "3"]
    [found] = published[1:]
    assert found[2:4] + found[-1:] == ["Test error (%)", "3", "reproduced †"]
    assert (found[0].startswith("A table"), found[1][:3]) == (True, "GEM")
    assert found[4].startswith("2.50 [")
    figures = [item.path for item in client.list_artifacts(overview.info.run_id, "figures")]
    assert "figures/main-curve-1-loss-curve.svg" in figures
