"""Snakemake's own time for a suite of very many jobs: what `snakemake -n` takes, by processor time.

    python benchmarks/many_jobs.py [--jobs 20000] [--profile FILE]

Writes a suite on MNIST whose fits are jobs of their own, ten for each method and seed (an embedding, and two
candidates of a search and a training for each of three classifiers), in a scratch folder, and plans it there.
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

from eigenbench.project_files import project_folder

#: Jobs of a method and seed, and the seeds of a method.
JOBS_OF_SEED, SEEDS = 10, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument(
        "--profile", type=Path, help="where cProfile's statistics go; the times are longer then"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        suites = Path(folder) / "suites"
        suites.mkdir()
        content = suite(max(1, options.jobs // (SEEDS * JOBS_OF_SEED)))
        (suites / "many.yaml").write_text(yaml.safe_dump(content))
        plan(Path(folder), suites, options.profile)


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


def plan(folder: Path, suites: Path, profile: Path | None) -> None:
    """Plan the suite and print its jobs and what that took."""
    watched = ["-m", "cProfile", "-o", str(profile.absolute())] if profile else []
    command = [sys.executable, *watched, "-m", "snakemake", "-n", "--quiet", "all", "--cores", "2"]
    command += ["--snakefile", str(project_folder() / "Snakefile"), "--directory", str(folder)]
    command += ["--config", f"suites_dir={suites}", "suites=[many]", "--", "many"]
    started = time.perf_counter()
    found = subprocess.run(command, capture_output=True, text=True)
    wall = time.perf_counter() - started
    if found.returncode:
        raise SystemExit(found.stdout + found.stderr)
    jobs = re.search(r"^total\s+(\d+)", found.stdout + found.stderr, re.MULTILINE)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{jobs.group(1) if jobs else '?'} jobs: {wall:.1f} s, {spent.ru_utime + spent.ru_stime:.1f} s of"
        f" processor time, {spent.ru_maxrss / 2**20:.2f} GB"
    )


if __name__ == "__main__":
    main()
