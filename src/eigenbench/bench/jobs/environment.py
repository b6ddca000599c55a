"""Where a run's numbers come from: machine, versions and commit."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info

from eigenbench.bench.records.record import Environment

PACKAGES = ("eigenbench", "numpy", "scipy", "scikit-learn", "pandas", "skops", "snakemake", "mlflow")


def describe_environment(threads: int, code_hash: str, gemm_gflops: float | None = None) -> Environment:
    """Collect the environment of this process; the rate of products is measured elsewhere."""
    commit = _git("rev-parse", "HEAD")
    status = _git("status", "--porcelain", "--untracked-files=no")
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        cpu=_cpu_model(),
        threads=threads,
        gemm_gflops=gemm_gflops,
        packages={name: found for name in PACKAGES if (found := _version(name))},
        blas=_blas(),
        git_commit=commit,
        git_dirty=None if status is None else bool(status),
        code_hash=code_hash,
    )


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _blas() -> str | None:
    """Name the BLAS libraries that this process has loaded, such as ``openblas 0.3.31 SkylakeX``."""
    names = {
        " ".join(str(found[key]) for key in ("internal_api", "version", "architecture") if found.get(key))
        for found in threadpool_info()
        if found["user_api"] == "blas"
    }
    return ", ".join(sorted(names)) or None


@cache
def _git(*arguments: str) -> str | None:
    folder = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@cache
def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
