"""Text of ``eigenbench verify``: short, each verdict with its reason."""

import io
from pathlib import Path

from rich.console import Console

from eigenbench.reproduction.receipt import ComparedRuns, ComparedValue, Receipt
from eigenbench.reproduction.receipt_text import print_receipt


def run(
    seed: int, verdict: str, why: str = "", causes: tuple[str, ...] = (), **values: ComparedValue
) -> ComparedRuns:
    names = {"experiment": "digits", "dataset": "digits", "method": "gem", "classifier": "LinearSVC"}
    return ComparedRuns(**names, seeds=[seed], verdict=verdict, why=why, values=values, causes=list(causes))


def value(reference: float, here: float, verdict: str, noise: float, noise_of: str) -> ComparedValue:
    return ComparedValue(reference=reference, here=here, verdict=verdict, noise=noise, noise_of=noise_of)


def printed(*runs: ComparedRuns) -> list[str]:
    receipt = Receipt(
        suite="small", reference="0" * 64, eigenbench="0.1", made="now", environments=[], runs=list(runs)
    )
    stream = io.StringIO()
    print_receipt(receipt, Path("receipt.json"), Console(file=stream, width=80))
    return stream.getvalue().splitlines()


def test_runs_within_noise_are_counted_and_the_furthest_is_named():
    rounded = run(0, "within noise").model_copy(update={"seeds": list(range(50)), "n_rounded": 1})
    moved = run(50, "within noise", test_error=value(0.10, 0.12, "within noise", 0.08, "seeds"))
    lines = printed(rounded, moved)
    assert lines[0].startswith("within noise 51 runs: 50 differ by rounding alone, ")
    assert lines[1].endswith(
        "digits/gem/LinearSVC/seed-50: test_error 0.12, 0.1 in the reference, 25% of the noise of seeds"
    )
    assert lines[2:] == ["small: 51 within noise", "Receipt: receipt.json"]


def test_metrics_of_unknown_noise_are_named():
    unknown = ComparedValue(reference=3.0, here=3.1, verdict="noise unknown")
    moved = value(0.10, 0.12, "within noise", 0.08, "seeds")
    why = "noise not known: bound"
    lines = printed(
        run(0, "within noise", why, bound=unknown, test_error=moved), run(1, "different", why, bound=unknown)
    )
    assert lines[:2] == [
        f"different    digits/gem/LinearSVC/seed-1: {why}",
        f"within noise digits/gem/LinearSVC/seed-0: {why}",
    ]
    assert lines[2].startswith("within noise 1 run: 0 differ by rounding alone, ")


def test_two_values_are_written_so_that_they_differ():
    lines = printed(run(0, "different", test_error=value(0.1099491, 0.10994912, "different", 1e-9, "rows")))
    assert "test_error 0.10994912, 0.1099491 in the reference, ± 1e-09 by rows" in lines[0]


def test_runs_without_a_comparison_stand_in_one_line_for_each_reason():
    lines = printed(
        *(run(seed, "missing", "no record") for seed in range(5)),
        *(run(seed, "not compared", "the reference has no such run") for seed in range(5, 7)),
    )
    name = "digits/gem/LinearSVC/seed"
    assert lines[0] == f"missing      {name}-0, {name}-1, {name}-2 and 2 more: no record"
    assert lines[1] == f"not compared {name}-5, {name}-6: the reference has no such run"
    assert lines[2] == "small: 2 not compared, 5 missing"


def test_digests_of_code_are_counted_other_causes_written_out():
    threads = "threads: 2, 1 in the reference"
    causes = [(f"code: {seed}, 9 in the reference", threads) for seed in range(3)]
    runs = [run(seed, "different", "beyond noise", one) for seed, one in enumerate(causes)]
    lines = [line.strip() for line in printed(*runs)]
    assert f"3 runs  {threads}" in lines
    assert "3 runs  code: 3 differences: see the receipt" in lines
