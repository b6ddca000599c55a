"""The memory that is free."""

from contextlib import suppress
from pathlib import Path


def free_megabytes() -> float:
    """Return the free memory of this machine, or of this container if that is less."""
    free = [2000.0]  # where nothing tells
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = [int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) / 1024]
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        free.append((limit - int((group / "memory.current").read_text(encoding="ascii"))) / 2**20)
    return max(0.0, min(free))
