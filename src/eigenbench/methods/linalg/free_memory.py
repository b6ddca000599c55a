"""The memory that is free."""

from contextlib import suppress
from pathlib import Path


def free_megabytes() -> float:
    """Return the free memory of this machine, or of a control group around this process if that is less."""
    free, group = [2000.0], Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = [int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) / 1024]
    with suppress(OSError):
        group /= Path("/proc/self/cgroup").read_text(encoding="utf-8").rpartition("::/")[2].strip()
    for place in (group, *group.parents):
        with suppress(OSError, ValueError):
            limit = int((place / "memory.max").read_text(encoding="ascii"))
            free.append((limit - int((place / "memory.current").read_text(encoding="ascii"))) / 2**20)
    return max(0.0, min(free))
