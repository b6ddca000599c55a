"""Snakemake's command without the seconds of its imports and plugins: each runs in a fork that has them.

An edited eigenbench (with a PYTHONPATH) is read by a new process; jobs are processes of their own as ever.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path


class SnakemakeServer:
    """A process that has imported Snakemake and the libraries that eigenbench plans with."""

    def __init__(self):
        command = [sys.executable, __file__]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, arguments: list[str], environment: dict[str, str], output: Path, timeout: float) -> int:
        """Run ``snakemake`` with some arguments, both its streams in a file; return its exit code."""
        told = (arguments, environment, str(output), str(Path.cwd()), round(timeout))
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)


def serve() -> None:
    import pandas  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.linear_model
    import sklearn.pipeline  # noqa: F401
    import snakemake.cli

    from eigenbench.bench.code_hash import code_hash

    snakemake.cli.get_argument_parser()  # imports all plugins
    code_hash(["eigenbench.reporting.__main__", "eigenbench.bench.jobs.train"])  # keeps the sums of modules
    for line in sys.stdin:
        child = os.fork()
        if not child:
            become_snakemake(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become_snakemake(
    arguments: list[str], environment: dict[str, str], output: str, folder: str, timeout: int
) -> None:
    """Be ``python -m snakemake``, started with an environment in a folder; ends by a signal after a time."""
    import snakemake

    signal.alarm(timeout)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if environment.get("PYTHONPATH"):
        os.execve(sys.executable, [sys.executable, "-m", "snakemake", *arguments], environment)
    sys.argv = [f"{Path(snakemake.__file__).parent / '__main__.py'}", *arguments]
    try:
        snakemake.cli.main()
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(end.code or 0)


if __name__ == "__main__":
    serve()
