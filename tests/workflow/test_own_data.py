"""A user's own data through the whole workflow, as ``docs/own_data.md`` tells it."""

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from processes import processes_in
from scipy.sparse import random_array
from sklearn.metrics import f1_score

import eigenbench
from eigenbench.datasets.catalogue import CatalogueEntry
from eigenbench.own_data.comparison_run import Options, run_comparison
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.progress import FitsEnd
from eigenbench.own_data.table import table_of

pytestmark = pytest.mark.workflow

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "own_data.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TUTORIAL.read_text(), flags=re.MULTILINE | re.DOTALL)


def command(*arguments):
    return [sys.executable, "-m", "eigenbench.cli", *arguments]


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table, use_model, in_python = blocks("python")
    commands = [line for block in blocks("console") for line in block.splitlines()]
    dry_run, compare, search, curve, with_suite, run = (
        line.removeprefix("$ eigenbench ") for line in commands
    )
    names = {}
    exec(table, names)

    done = subprocess.run(command(*shlex.split(dry_run)), capture_output=True, text=True, check=True)
    assert "150 rows, 5 columns, 3 classes" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["flowers.csv"]

    done = subprocess.run(command(*shlex.split(compare)), capture_output=True, text=True, check=True)
    assert re.search(r"1=? +(lda|raw|KNeighborsClassifier)", done.stdout)
    assert "on the raw inputs" in done.stdout
    assert "failed" not in done.stdout
    folder = tmp_path / "eigenbench-flowers"
    for path in re.findall(r"^\| `([\w./]+)`", TUTORIAL.read_text(), flags=re.MULTILINE):
        assert (folder / path).exists(), path
    assert {path.name for path in tmp_path.iterdir()} == {"flowers.csv", "eigenbench-flowers"}
    board = pd.read_csv(folder / "leaderboard.csv")
    lines = {"raw Dummy", "raw LogisticRegression", "lda LogisticRegression", "raw KNeighborsClassifier"}
    assert set(board["method"] + " " + board["classifier"]) == lines
    assert board.loc[board["classifier"] != "Dummy", "mean"].between(0, 0.15).all()

    assert re.search(r"^Take \w+: ", done.stdout, flags=re.MULTILINE)

    shown = done.stdout.replace("new.csv", "flowers.csv")
    assert all(line in shown for line in use_model.splitlines())
    exec(use_model, {})
    predicted = np.array(re.findall(r"'(\w+)'", capsys.readouterr().out))
    assert np.mean(predicted == names["table"]["kind"]) > 0.9

    done = subprocess.run(command(*shlex.split(search)), capture_output=True, text=True, check=True)
    assert "failed" not in done.stdout
    records = list((tmp_path / "eigenbench-flowers-searched" / "results").glob("*/*/lda/**/record.json"))
    assert [len(json.loads(path.read_text())["search"]["candidates"]) for path in records] == [16] * 5

    done = subprocess.run(command(*shlex.split(curve)), capture_output=True, text=True, check=True)
    assert "Error in % of lda by training rows: " in done.stdout
    folder = tmp_path / "eigenbench-flowers-curve"
    curve = pd.read_csv(folder / "curve.csv")
    assert curve.groupby("method")["rows"].unique().map(list).tolist() == [[15, 30, 60, 120]] * 2
    assert set(curve["fold"]) == set(range(5))
    ranked = (
        pd.read_csv(folder / "leaderboard.csv").query("classifier != 'Dummy'").set_index("method")["mean"]
    )
    whole = curve[curve["rows"] == 120].groupby("method")["error"].mean()
    assert whole.to_dict() == pytest.approx(ranked.to_dict()), "each fold's curve ends at its error"
    assert "training rows" in (folder / "reports/index.html").read_text()

    subprocess.run(command(*shlex.split(with_suite)), check=True)
    assert set(tmp_path.glob("my-study/*")) > {tmp_path / "my-study" / "mine.yaml"}
    subprocess.run(command(*shlex.split(run)), check=True)
    again = pd.read_csv(tmp_path / "reports" / "mine" / "leaderboard.csv")
    assert again["mean"].tolist() == pytest.approx(board["mean"].tolist())

    exec(in_python, names)
    assert names["board"].attrs["answer"][-1].startswith("Take ")
    assert (tmp_path / "eigenbench-flowers-2" / "model.skops").samefile(names["board"].attrs["model"])
    assert set(names["board"]["method"]) == {"raw", "lda"}
    assert names["board"]._repr_html_().count("<th>") == 7
    shared = board.set_index(["method", "classifier"]).loc[("lda", "LogisticRegression"), "mean"]
    again = names["board"].set_index("method").loc["lda", "mean"]
    assert again == pytest.approx(shared, abs=1e-3)


def test_the_catalogue_of_the_tutorial_is_valid():
    (catalogue,) = blocks("yaml")
    entry = CatalogueEntry.model_validate(yaml.safe_load(catalogue)["datasets"]["flowers"])
    assert entry.licence == "not stated"


@pytest.mark.slow
def test_labels_of_sparse_rows(tmp_path):
    X = random_array((60, 40), density=0.2, rng=np.random.default_rng(0), format="csr")
    Y = np.stack([X[:, [0]].toarray().ravel() > 0, X[:, [1]].toarray().ravel() > 0], axis=1).astype(int)
    board = eigenbench.compare(X, Y, cv=2, methods=["random"], jobs=2, out=tmp_path / "out")
    assert set(board["metric"]) == {"test_micro_f1"}
    assert set(board["method"]) == {"raw", "random"}
    model = eigenbench.load_model(tmp_path / "out" / "model.skops")
    assert model.label_names_ == ["0", "1"]
    assert 0 < model.threshold_ < 1
    assert f1_score(Y, model.predict_proba(X) >= model.threshold_, average="micro") > 0.6


def test_out_of_time_is_an_answer(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.warns(UserWarning, match="time was over before any method"):
        board = eigenbench.compare(
            X, X[:, 0] > 0, cv=2, methods=["lda"], time_limit=20.1, out=tmp_path / "out"
        )
    assert board["mean"].isna().all()
    assert board["without_result"].str.contains("without a record").all()
    assert (tmp_path / "out" / "reports" / "index.html").exists()
    assert not (tmp_path / "out" / "model.skops").exists()


@pytest.mark.slow
def test_all_methods_do_a_fold_before_the_next_and_the_same_command_goes_on(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(10_000, 100)), np.arange(10_000) % 2
    problem = make_problem(table_of("X", X + codes[:, None] * 0.1, codes), n_folds=4)
    options = Options(["random", "lda"], jobs=1)
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now, sleep=time.sleep)
    monkeypatch.setattr("eigenbench.own_data.progress.time", clock)

    def end_in_the_second_fold(watch, done):
        if watch.complete(done) and len(done) > 4:
            clock.now = options.seconds + 1

    first = run_comparison(problem, tmp_path / "out", options, started=0.0, seen=end_in_the_second_fold)
    assert first.end is FitsEnd.TIME
    assert first.note == "The time was over: the table stands on 1 of 4 folds, the same for all methods."
    assert set(first.board["n_seeds"]) == {1}
    assert first.board["rank"].notna().all()
    assert first.saved
    reported = pd.read_csv(tmp_path / "out" / "reports" / "leaderboard.csv")
    assert reported["mean"].to_numpy() == pytest.approx(first.board["mean"].to_numpy())
    records = (tmp_path / "out" / "results").glob("*/*/*/seed-0/*/record.json")
    written = {path: path.stat().st_mtime_ns for path in records}
    assert len(written) == 4

    monkeypatch.undo()
    second = run_comparison(problem, tmp_path / "out", options)
    assert not second.note
    assert set(second.board["n_seeds"]) == {4}
    assert {path: path.stat().st_mtime_ns for path in written} == written


@pytest.mark.slow
@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_keeps_what_is_done_and_leaves_no_process(tmp_path, asked):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd")).assign(kind=rng.integers(0, 2, 400))
    table.to_csv(tmp_path / "data.csv", index=False)
    arguments = ("compare", "data.csv", "--target", "kind", "--cv", "2", "--jobs", "1", "--methods", "lda")
    process = subprocess.Popen(
        command(*arguments),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell starts what it puts into the background with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    folder = tmp_path / "eigenbench-data"
    deadline = time.monotonic() + 240
    while not list(folder.glob("results/**/record.json")) and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(asked)
    printed, _ = process.communicate(timeout=120)
    if asked != signal.SIGKILL:
        assert process.returncode == 130, printed
        assert "the same command continues" in printed
    assert "Traceback" not in printed
    assert list(folder.glob("results/**/record.json"))
    deadline = time.monotonic() + 10
    while (left := list(processes_in(folder))) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left
