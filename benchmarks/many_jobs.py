"""Snakemake's own processor time for a suite of very many jobs: what planning it, or running it, takes.

    python benchmarks/many_jobs.py [--jobs 20000] [--run] [--profile FILE]

Writes a suite on MNIST whose runs are jobs of their own, three for each method and seed, in a scratch folder.
Plans it there by `snakemake -n`, or runs it with jobs that write empty files in place of their work.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from eigenbench.datasets.project_files import project_folder

#: Begins a start of Snakemake: its own processor time, without that of its jobs, is the last line printed.
WATCHED = """
import atexit, resource, runpy, sys
spent = lambda used: used.ru_utime + used.ru_stime
atexit.register(lambda: print(spent(resource.getrusage(resource.RUSAGE_SELF)), file=sys.stderr))
sys.argv[0], sys.executable = "snakemake", {executable!r}
runpy.run_module("snakemake", run_name="__main__")
"""

#: Stands for Python in the jobs: makes the files that a job leaves, by the name of its log.
EMPTY_FILES = """#!/bin/sh
verb=${2##*.}
[ "$verb" = jobs ] && verb=$3
while [ $# -gt 0 ]; do
    case $1 in --log) log=$2 ;; --receipt) receipt=$2 ;; --reports-dir) reports=$2 ;; esac
    shift
done
name=${log##*/} name=${name%.log} place=results/${log#logs/} place=${place%/*}
case $verb in
download) : > data/raw/$name.json ;;
prepare) : > data/prepared/$name.json; mkdir -p data/prepared/$name ;;
train) : > $place/record.json; : > $place/model.skops; : > $place/predictions.npz ;;
tracking) : > $receipt ;;
reporting)
    mkdir -p $reports/figures; cd $reports
    touch index.html results.csv comparison.csv leaderboard.csv ranks.csv pairs.csv searches.csv ;;
esac
"""

#: Jobs of a method and seed, and the seeds of a method.
JOBS_OF_SEED, SEEDS = 3, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--run", action="store_true", help="run it, with empty jobs, in place of planning")
    parser.add_argument(
        "--profile", type=Path, help="where cProfile's statistics go; the times are longer then"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        suites = Path(folder) / "suites"
        suites.mkdir()
        content = suite(max(1, options.jobs // (SEEDS * JOBS_OF_SEED)))
        (suites / "many.yaml").write_text(yaml.safe_dump(content))
        measure(Path(folder), suites, options.run, options.profile)


def suite(n_methods: int) -> dict:
    """Return a suite with random directions of as many sizes as there are methods."""
    fixed = {
        f"random_{size}": {"steps": [{"RandomDirections": {"n_components": size}}, "SignedPowers"]}
        for size in range(1000, 1000 + n_methods)
    }
    searched = {
        "CalibratedLeastSquares": {"ridge": [1.0, 10.0]},
        "SecondOrderLogistic": {"C": [1.0, 10.0]},
        "LogisticRegression": {"C": [1.0, 10.0]},
    }
    experiment = {
        "title": "Many jobs",
        "dataset": "mnist",
        "seeds": list(range(SEEDS)),
        "methods": fixed,
        "classifiers": {name: {"grid": grid} for name, grid in searched.items()},
    }
    return {"title": "Many jobs", "experiments": {"many": experiment}}


def measure(folder: Path, suites: Path, run: bool, profile: Path | None) -> None:
    """Plan or run the suite and print its jobs and what that took."""
    stub = folder / "python"
    stub.write_text(EMPTY_FILES)
    stub.chmod(0o755)
    start = folder / "start.py"
    start.write_text(WATCHED.format(executable=str(stub)))
    profiled = ["-m", "cProfile", "-o", str(profile.absolute())] if profile else []
    command = [sys.executable, *profiled, str(start), *([] if run else ["-n", "--quiet", "all"])]
    command += [
        "--cores",
        "2",
        "--snakefile",
        str(project_folder() / "Snakefile"),
        "--directory",
        str(folder),
    ]
    command += ["--config", f"suites_dir={suites}", "suites=[many]", "--", "many"]
    started = time.perf_counter()
    found = subprocess.run(command, capture_output=True, text=True)
    wall = time.perf_counter() - started
    if found.returncode:
        raise SystemExit(found.stdout + found.stderr)
    logs = [log.read_text() for log in folder.glob(".snakemake/log/*.log")]
    jobs = re.search(r"^total\s+(\d+)", "\n".join([found.stdout, found.stderr, *logs]), re.MULTILINE)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    own = float(found.stderr.split()[-1])
    print(
        f"{jobs.group(1) if jobs else '?'} jobs: {wall:.1f} s, {own:.1f} s of Snakemake's own processor time,"
        f" {peak:.2f} GB"
    )


if __name__ == "__main__":
    main()
