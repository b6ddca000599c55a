"""Times and qualities over commits: what a change made slower or worse, beyond noise.

    python benchmarks/regress compare main HEAD       # two commits, or folders of checkouts: before a merge
    python benchmarks/regress record                  # this commit's line in history.jsonl, for the docs
    python benchmarks/regress page                    # the table of the docs

``compare`` measures both in turn, by the benchmarks of this checkout, names what changed, and ends with
status 1 if something is worse. Ten benchmarks take about 15 s of processor time in a round.
"""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime

from changes import Change, changes
from history import Measured, append, page, read, this_machine
from measures import BENCHMARKS, kind_of
from rounds import PROJECT, checkout, git, measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.set_defaults(only=[])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("compare", "record"):
        command = commands.add_parser(name)
        command.add_argument("--rounds", type=int, default=8, help="each with a seed of its own (default: 8)")
        command.add_argument("--only", nargs="+", choices=list(BENCHMARKS), default=[])
        if name == "compare":
            command.add_argument("before", help="a commit, or the folder of a checkout")
            command.add_argument("after", help="the same")
    commands.add_parser("page")
    options = parser.parse_args()
    if options.command == "page":
        print(page(read()), end="")
    elif options.rounds < 3:
        parser.error("--rounds: three at least, or no noise can be seen.")
    elif options.command == "record":
        record(options.rounds, options.only)
    else:
        with checkout(options.before) as before, checkout(options.after) as after:
            found = changes(*measured([before, after], options.rounds, options.only))
        report(found)
        raise SystemExit(any(change.verdict in ("worse", "missing") for change in found))


def record(n_rounds: int, names: list[str]) -> None:
    """Measure this commit and add it to the history."""
    if git("status", "--porcelain", "--", "src"):
        raise SystemExit("src has changes that are not committed: commit them, or use compare.")
    [rounds] = measured([PROJECT], n_rounds, names)
    append(
        Measured(
            commit=git("rev-parse", "HEAD"),
            date=datetime.now(UTC).date().isoformat(),
            release=git("tag", "--points-at", "HEAD").partition("\n")[0] or None,
            machine=this_machine(),
            load=os.getloadavg()[0],
            rounds=rounds,
        )
    )


def report(found: list[Change]) -> None:
    """Print what changed, worst first, and then the rest."""
    order = ["missing", "worse", "better", "same"]
    width = max(len(change.quantity) for change in found)
    print(f"{'quantity':<{width}}{'before':>11}{'after':>11}{'ratio':>8}{'p':>10}  verdict, unit")
    for change in sorted(found, key=lambda change: order.index(change.verdict)):
        print(
            f"{change.quantity:<{width}}{change.before:>11.4g}{change.after:>11.4g}{change.ratio:>8.3f}"
            f"{change.p_value:>10.2g}  {change.verdict}, {kind_of(change.quantity).unit}"
        )


if __name__ == "__main__":
    main()
