"""Leaderboards: order, ties, what they rest on, and what is missing."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from record_files import plan_of, write

from eigenbench.bench.jobs.plan import load_plan
from eigenbench.bench.records.record import Candidate, Failure, Search
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.bench.suites.suite import Suite
from eigenbench.comparison.differences import OVER_SEEDS_AND_ROWS, OVER_SPLITS, OVER_VALUES, compare_values
from eigenbench.reporting.leaderboard import (
    COLUMNS,
    boards_at_sizes,
    compare_groups,
    leaderboard,
    leaderboard_notes,
    leaderboards,
)
from eigenbench.reporting.parameters import edge_note
from eigenbench.reporting.replicates import RunGroup, group_runs
from eigenbench.reporting.row_metrics import row_metric
from eigenbench.reporting.terminal_tables import leaderboard_text
from eigenbench.reproduction.reference import default_reference_folder

CLASSIFIER = "LinearSVC"
N_TEST = 360


@pytest.fixture
def store(tmp_path: Path, make_record):
    """Return the function that writes a run with its predictions, the first rows wrong, and its record."""
    records = []

    def write_run(method, seed, n_wrong, *, drawn=True, groups=None, folder=tmp_path, **changes):
        rows = np.random.default_rng(seed).permutation(1797)[:N_TEST]
        # Easy rows have large numbers: who errs less errs on a part of the same rows.
        wrong = np.argsort(np.argsort(rows)) < n_wrong
        metrics = {"test_error": n_wrong / N_TEST, "test_errors": float(n_wrong)}
        record = make_record("digits", method, CLASSIFIER, seed, **{"metrics": metrics, **changes})
        truth = np.arange(N_TEST) % 10
        arrays = {"truth": truth, "predicted": np.where(wrong, (truth + 1) % 10, truth)}
        path = write(folder, record).with_name("predictions.npz")
        of_rows = {"rows": rows} if drawn else {}
        of_rows |= {"groups": np.arange(N_TEST) * groups // N_TEST} if groups else {}
        np.savez_compressed(path, **arrays, **of_rows)
        records.append(record)
        return record

    write_run.records = records
    return write_run


OVERLAPS = {"turntable": 10 / 20, "rotated": 900 / 1350, "scaled": 300 / 600, "faces": 9 / 40}
OVERLAPS |= {"faces_first": 1.0, "handwritten": 500 / 10_000}


@pytest.mark.parametrize(("experiment", "overlap"), OVERLAPS.items())
def test_target_tasks_of_two_seeds_share_rows(experiment, overlap):
    plan = load_plan(Path(__file__).resolve().parents[2] / "config" / "suites" / "hpca_transfer.yaml")
    (found,) = {group.overlap for group in group_runs([plan], [])["hpca_transfer", experiment]}
    assert found == pytest.approx(overlap)


def test_repetitions_of_folds_share_rows():
    plan = load_plan(Path(__file__).resolve().parents[2] / "config" / "suites" / "gem_mnist_folds.yaml")
    folds = plan.suite.experiments["one_layer"].model_copy(update={"seeds": tuple(range(6))})
    twice = plan_of(plan.suite.model_copy(update={"experiments": {"one_layer": folds}}))
    assert {group.overlap for group in group_runs([twice], [])["gem_mnist_folds", "one_layer"]} == {1 / 5}


def board_of(suite, store, tmp_path):
    return leaderboard(plan_of(suite), "digits", store.records, tmp_path)


def of_method(board, method):
    return board[(board["method"] == method) & (board["classifier"] == CLASSIFIER)].iloc[0]


@pytest.fixture
def five(suite):
    """The suite, each method of digits with five splits."""
    spec = suite.experiments["digits"].model_copy(update={"seeds": (0, 1, 2, 3, 4)})
    return suite.model_copy(update={"experiments": suite.experiments | {"digits": spec}})


def test_methods_are_ranked_and_tied_over_splits(five, store, tmp_path):
    for method, wrong in (("pca", 9), ("gem", 10), ("random", 80)):
        for seed in range(5):
            store(method, seed, wrong + (seed * 7 + wrong) % 3)
    board = board_of(five, store, tmp_path)
    assert list(board.columns) == list(COLUMNS)
    assert list(board["method"][:3]) == ["pca", "gem", "random"]
    assert list(board["rank"][:3]) == [1, 2, 3]
    assert list(board["tied"][:3]) == [True, True, False]
    assert set(board["compared_over"].dropna()) == {OVER_SPLITS}
    assert board.loc[2, "difference"] > board.loc[2, "difference_low"] > 0
    assert board.loc[1, "difference_low"] < 0 < board.loc[1, "difference_high"]
    assert board.loc[3:, "rank"].isna().all()
    assert len(board) == 20
    board.loc[1, "n_to_settle"] = 12
    resolution, plan = leaderboard_notes(board)[:2]
    shown = f"{100 * board['detectable'].median():.2f} points is found with a probability of 80 %."
    assert resolution == f"= ties with the best. Compared over {OVER_SPLITS}. A difference of {shown}"
    assert plan.startswith("About 12 splits would settle GEM + linear SVM against the best")


def test_three_splits_are_too_few_to_tell(suite, store, tmp_path):
    for method, wrong in (("pca", 9), ("random", 80)):
        for seed in range(3):
            store(method, seed, wrong + seed)
    board = board_of(suite, store, tmp_path)
    assert board["tied"][:2].isna().all()
    assert board["refusal"].iloc[0].startswith("Too few re-drawn splits")
    assert board["refusal"].iloc[0] in leaderboard_notes(board)


@pytest.mark.parametrize(
    ("n_wrong", "tied", "reason"),
    [(80, [True, None, False], "No test: it lacks seeds"), (2, [None] * 3, "No test: the method")],
)
def test_without_predictions_a_method_of_one_seed_costs_the_others_no_test(
    five, store, n_wrong, tied, reason
):
    spec = five.experiments["digits"]
    once = {"random": spec.methods["random"].model_copy(update={"seeds": (0,)})}
    five.experiments["digits"] = spec.model_copy(update={"methods": spec.methods | once})
    for method, wrong in (("pca", 9), ("gem", 91)):
        for seed in range(5):
            store(method, seed, wrong + (seed * 7 + wrong) % 3)
    store("random", 0, n_wrong)
    board = leaderboard(plan_of(five), "digits", store.records)[:3]
    assert [None if pd.isna(one) else one for one in board["tied"]] == tied
    untested = board[board["tied"].isna() & (board["difference"] != 0)]
    assert untested["refusal"].str.startswith(reason).all()


def test_methods_whose_difference_never_varies_are_not_said_to_lack_seeds(five, store):
    for method, wrong in (("pca", 9), ("gem", 91), ("random", 120)):
        for seed in range(5):
            store(method, seed, wrong)
    board = leaderboard(plan_of(five), "digits", store.records)[:3]
    assert board["p_value"].isna().all()
    assert list(board["refusal"]) == ["", *["No test: its differences from the best do not vary."] * 2]
    assert board["difference"].tolist() == pytest.approx(list(board["mean"] - board["mean"].iloc[0]))


def test_rows_of_one_group_count_as_one(five, store, tmp_path):
    def p_value(groups):
        folder = tmp_path / str(groups)
        store.records.clear()
        for method, wrong in (("pca", 60), ("gem", 90)):
            for seed in range(5):
                store(method, seed, wrong + seed % 2, drawn=False, folder=folder, groups=groups)
        return leaderboard(plan_of(five), "digits", store.records, folder)["p_value"].max()

    assert p_value(groups=6) > 10 * p_value(groups=None)


def test_seeds_of_an_official_split_share_their_rows(suite, store, tmp_path):
    for seed in range(3):
        store("pca", seed, 20 + seed, drawn=False)
        store("gem", seed, 22 - seed, drawn=False)
    board = board_of(suite, store, tmp_path)
    assert set(board["compared_over"].dropna()) == {OVER_SEEDS_AND_ROWS}
    assert board["tied"][:2].all()


def test_a_failed_seed_costs_the_rank_and_says_why(suite, store, tmp_path, broken):
    failure = Failure(stage="train", type="MemoryError", message="needs 9 GB")
    for seed in range(3):
        store("pca", seed, 30)
        store("gem", seed, 5, **(broken("failed", failure) if seed == 1 else {}))
    board = board_of(suite, store, tmp_path)
    gem = of_method(board, "gem")
    assert board.iloc[0]["method"] == "pca"
    assert pd.isna(gem["rank"])
    assert not gem["tied"]
    assert (gem["n_seeds"], gem["n_planned"]) == (2, 3)
    assert gem["without_result"] == "seed 1: failed in train: MemoryError: needs 9 GB"
    assert board.index[board["method"] == "gem"][0] == 1


def test_predictions_that_contradict_the_record_are_not_used(suite, store, tmp_path):
    for seed in range(3):
        store("pca", seed, 30)
        store("gem", seed, 5, metrics={"test_error": 0.5, "test_errors": 180.0})
    assert set(board_of(suite, store, tmp_path)["compared_over"].dropna()) == {OVER_VALUES}


def test_gemm_equivalents_need_a_measured_rate(suite, store, tmp_path, make_record):
    environment = make_record("digits", "pca", CLASSIFIER, 0).environment
    for seed in range(3):
        measured = environment.model_copy(update={"gemm_gflops": 50.0})
        store("pca", seed, 9, fit_seconds=1.0, train_seconds=2.0, environment=measured)
        store("gem", seed, 9)
    board = board_of(suite, store, tmp_path)
    assert of_method(board, "pca")["gemm_equivalents"] == 150.0
    assert np.isnan(of_method(board, "gem")["gemm_equivalents"])


def test_a_curve_has_a_leaderboard_at_each_size_and_names_the_failures(make_record):
    curve = {"protocol": "learning_curve", "train_rows": [60, 1000]}
    given = {"dataset": "digits", "methods": {"gem": None}, **curve}
    suite = Suite.model_validate({"name": "quick", "title": "t", "experiments": {"digits": given}})
    measured = {"metrics": {"test_error_at_60": 0.2, "failed_at_1000": 1.0}, "search_seconds": 2.0}
    warnings = ["no result at 1,000: no solution"]
    record = make_record("digits", "gem", "none", 0, warnings=warnings, **measured)
    groups = group_runs([plan_of(suite)], [record])
    boards = [*leaderboards([suite], groups).values(), *boards_at_sizes([suite], groups)]
    assert [board["train_rows"].tolist() for board in boards] == [[1000], [60]]
    assert boards[1]["mean"].tolist() == [0.2]
    assert boards[1]["search_seconds"].tolist() == [2.0]
    assert boards[0]["rank"].isna().all()
    assert boards[0]["without_result"].tolist() == ["seed 0: no result at 1,000: no solution"]


@pytest.mark.parametrize(
    ("values", "chosen", "expected"),
    [
        ([0.1, 1.0, 10.0], 10.0, "a: best value at the grid's edge (10)"),
        ([0.1, 1.0, 10.0], 0.1, "a: best value at the grid's edge (0.1)"),
        ([0.1, 1.0, 10.0], 1.0, ""),
        ([0.1, 1.0], 1.0, "a: best value at the grid's edge (1)"),
        ([1.0], 1.0, ""),
        (["x", "y", "z"], "x", ""),
        ([True, False, None], True, ""),
    ],
)
def test_a_choice_at_the_edge_of_a_numeric_grid_is_flagged(make_record, values, chosen, expected):
    candidates = [Candidate(params={"a": value}, status="ok", score=0.5) for value in values]
    search = Search(metric="error", candidates=candidates, selected=values.index(chosen))
    assert edge_note([make_record("digits", "pca", CLASSIFIER, 0, search=search)]) == expected


def test_a_choice_at_the_edge_can_be_silenced(suite, records):
    candidates = [Candidate(params={"a": value}, status="ok", score=0.5) for value in (0.1, 1.0)]
    search = Search(metric="error", candidates=candidates, selected=0)
    found = [record.model_copy(update={"search": search}) for record in records]
    assert leaderboard(plan_of(suite), "digits", found)["grid_edge"].ne("").any()
    spec = suite.experiments["digits"].model_copy(update={"silence": {"grid_edge": "two values suffice"}})
    silent = suite.model_copy(update={"experiments": {**suite.experiments, "digits": spec}})
    assert leaderboard(plan_of(silent), "digits", found)["grid_edge"].eq("").all()


def test_the_terminal_shows_80_columns_and_everything_missing(suite, records, pipe):
    board = leaderboard(plan_of(suite), "digits", records)
    groups = group_runs([plan_of(suite)], records)["quick", "digits"]
    pipe.print(leaderboard_text(board, groups))
    text = pipe.file.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    assert (
        "Random directions + linear SVM: seed 1: failed in train: MemoryError: needs 9 GB has 6 GB" in words
    )
    assert "No embedding + linear SVM: 1 of 3 seeds without a record" in words
    pipe.print(leaderboard_text(board, groups, limit=2))
    assert "and 18 more" in pipe.file.getvalue()


def test_metrics_of_classes_from_predictions(make_record):
    record = make_record("digits", "pca", CLASSIFIER, 0)
    arrays = {
        "truth": np.array([0, 0, 0, 1]),
        "predicted": np.array([0, 0, 1, 0]),
        "probability": np.array([0.5, 0.25, 0.5, 0.0]),
        "brier": np.array([0.25, 0.5625, 0.25, 1.0], dtype=np.float32),
    }
    found = {name: row_metric(f"test_{name}", record, arrays).value for name in ("errors", "balanced_error")}
    assert found == {"errors": 2, "balanced_error": pytest.approx((1 / 3 + 1) / 2)}
    loss = row_metric("test_log_loss", record, arrays).value
    assert loss == pytest.approx(-np.mean(np.log([0.5, 0.25, 0.5, np.finfo(float).eps])))
    assert row_metric("test_brier", record, arrays).value == 0.515625
    assert row_metric("validation_error", record, arrays) is None


def test_kernel_errors_that_differ_by_powers_of_ten_are_compared_by_their_logarithms(make_record):
    values = {"pca": [1e-8, 1.1e-8, 0.9e-8, 1e-8, 1.2e-8], "gem": [1e-4, 9e-3, 2e-4, 3e-4, 1e-4]}
    name = "kernel_mse_at_512"
    groups = []
    for method, by_seed in values.items():
        changes = [{"metrics": {name: value}} for value in by_seed]
        records = [make_record("digits", method, NO_CLASSIFIER, s, **one) for s, one in enumerate(changes)]
        groups.append(RunGroup(method, NO_CLASSIFIER, tuple(records), len(records)))
    line = compare_groups(groups, name, lower=True).table.loc["gem"]
    assert compare_values(pd.DataFrame(values)).table.loc["gem", "tied"], "by the values themselves"
    assert (line["p_value"] < 1e-3, line["tied"]) == (True, False)
    assert line["difference"] == pytest.approx(np.mean(values["gem"]), rel=1e-4)
    assert line[["difference_low", "difference_high", "detectable"]].isna().all()


@pytest.mark.parametrize(
    "path", sorted(default_reference_folder().rglob("leaderboard.csv")), ids=lambda path: path.parent.name
)
def test_tie_mark_interval_and_p_value_agree_in_every_committed_leaderboard(path):
    board = pd.read_csv(path, dtype={"tied": "boolean", "refusal": str})
    assert set(board.columns) <= set(COLUMNS)
    ranked = board[board["rank"].notna()]
    tested = ranked[ranked["p_value"].notna()]
    assert ((tested["p_value"] > 0.05) == tested["tied"]).all()
    by_logs = tested["compared_over"] == "logarithms of the values of the seeds"
    assert (tested["difference_low"].isna() == by_logs).all()
    within = tested[~by_logs]
    holds_zero = (within["difference_low"] <= 0) & (within["difference_high"] >= 0)
    assert (holds_zero == within["tied"]).all()
    assert within["detectable"].notna().all(), "each difference has its resolution"
    untested = ranked.drop(tested.index)
    is_best = untested["difference"] == 0
    assert (untested["tied"].isna() | is_best).all(), "no mark without a test"
    assert (untested["refusal"].notna() | is_best).all(), "a missing test has a reason"
    for _, lines in ranked.groupby(["experiment", "metric"]):
        means = lines["mean"] - lines.loc[lines["rank"].idxmin(), "mean"]
        compared = lines["difference"].notna()
        assert lines["difference"][compared].to_numpy() == pytest.approx(means[compared].to_numpy(), abs=1e-9)
