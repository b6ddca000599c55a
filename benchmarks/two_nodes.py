"""Time of a suite on a SLURM of two nodes, and on the same cores without SLURM.

    python benchmarks/two_nodes.py [--suite quick] [slurm batch local ...]

Needs root and Debian's packages of SLURM, as do the tests of the cluster profiles, whose SLURM it brings up,
with nodes that are bound to a core each. Every run starts from nothing in a scratch folder. What SLURM ran is
printed, a line for a job.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests" / "cluster"))

from conftest import MARK, Slurm  # noqa: E402

#: A profile, or the cores of the machine.
WAYS = {
    "slurm": ("--profile", str(REPOSITORY / "profiles" / "slurm"), "--cores", "1"),
    "batch": ("--profile", str(REPOSITORY / "profiles" / "batch"), "--cores", "1"),
    "local": ("--cores", "2"),
}


class TwoCores(Slurm):
    """A SLURM whose nodes are a core each."""

    CPUS = 1

    def start_node(self, name: str) -> None:
        core = str(self.NODES.index(name))
        self._daemon(name, "taskset", "--cpu-list", core, "slurmd", "-D", "-N", name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ways", nargs="*", default=list(WAYS), choices=WAYS, metavar="way")
    parser.add_argument("--suite", default="quick", help="(default: %(default)s)")
    options = parser.parse_args()
    for way in options.ways:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            if way == "local":
                print(f"{way}: {seconds(way, options.suite, folder):.1f} s", flush=True)
            else:
                print(on_cluster(way, options.suite, folder), flush=True)


def on_cluster(way: str, suite: str, folder: Path) -> str:
    """Run a suite and return how long it took, and what SLURM says of its jobs."""
    (folder / "slurm").mkdir()
    os.environ[MARK] = str(folder / "slurm")
    cluster = TwoCores(folder / "slurm")
    try:
        cluster.start()
        taken = seconds(way, suite, folder)
        listed = ["squeue", "--noheader", "--states=all", "--sort=i", "--format=%i %V %S %e %N"]
        jobs = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    finally:
        cluster.stop()
    return f"{way}: {taken:.1f} s\njob, submitted, begun, ended, node\n{jobs}"


def seconds(way: str, suite: str, folder: Path) -> float:
    """Run a suite from nothing, with what it prints in a file."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile")]
    command += ["--directory", str(folder), *WAYS[way], "--config", f"suites=[{suite}]"]
    log = folder / "printed.log"
    begun = time.perf_counter()
    with log.open("wb") as printed:
        done = subprocess.run(command, stdout=printed, stderr=printed, check=False)
    taken = time.perf_counter() - begun
    if done.returncode:
        sys.exit(log.read_text()[-4000:])
    return taken


if __name__ == "__main__":
    main()
