"""Settings that must stand before NumPy is imported, and limits where it was imported earlier."""

import gc
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# The tests run side by side: threads that wait for each other would make them slow. LightGBM asks joblib.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
    os.environ.setdefault(variable, "1")

# Hundreds of processes start here: the package is compiled for the first of them alone.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

from hypothesis import settings  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

# Without pytest-xdist (-n 0) the warning filters of pyproject.toml have imported scikit-learn before this.
threadpool_limits(1)

# A loaded machine is no failure. Hosted checks draw the same examples each time.
settings.register_profile("eigenbench", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("eigenbench")

#: Folders and files of long tests, in the order in which they are begun.
LONG = ("cluster", "workflow", "test_contract.py")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin the long files first: one that is begun last runs while all other processes are idle."""
    items.sort(
        key=lambda item: next((i for i, name in enumerate(LONG) if name in item.path.parts), len(LONG))
    )


def pytest_collection_finish() -> None:
    """Keep thousands of tests, which stay to the end, out of every collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def largest_file() -> Iterator[Callable[[int | None], None]]:
    """Return a function that lets the system refuse larger files, as a full disk would; None ends it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limit(size: int | None) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft if size is None else size, hard))

    yield limit
    limit(None)
    signal.signal(signal.SIGXFSZ, previous)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium of the machine, through Playwright; tests skip where one of them is not installed."""
    tools = pytest.importorskip("playwright.sync_api", reason="pip install 'eigenbench[browser]'")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"no browser: install one of {', '.join(BROWSERS)}")
    with tools.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def violations() -> Callable[[Any], list[str]]:
    """Return what axe finds wrong with an open page; EIGENBENCH_AXE names its axe.min.js."""
    path = os.environ.get("EIGENBENCH_AXE", "")
    if not Path(path).is_file():
        pytest.skip("EIGENBENCH_AXE names no axe.min.js (npm pack axe-core)")
    source = Path(path).read_text(encoding="utf-8")

    def violations(page: Any) -> list[str]:
        page.evaluate(f"{source}; 0")
        found = page.evaluate("axe.run({resultTypes: ['violations']}).then((found) => found.violations)")
        return [
            f"{one['id']}: {one['help']}: {node['target']} {node['html'][:200]} {node['failureSummary']}"
            for one in found
            for node in one["nodes"]
        ]

    return violations
