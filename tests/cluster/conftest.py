"""Brings up a real SLURM of two nodes on this machine, and runs the workflow on it."""

import fcntl
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import pytest

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets.catalogue import load_catalogue

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")

# In the environment of all that a cluster runs: its folder.
MARK = "EIGENBENCH_TESTS_SLURM"

# The clients inside a job look nowhere else.
CONFIGURATION = Path("/etc/slurm/slurm.conf")


def wait_until(condition: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@dataclass(frozen=True)
class SlurmJob:
    """A row of what ``squeue`` knows about a job, ended ones included, and which Snakemake jobs it runs."""

    id: str
    state: str
    minutes: int
    memory_mb: int
    cpus: int
    node: str
    targets: tuple[str, ...]

    @property
    def names(self) -> set[str]:
        """The rules of its Snakemake jobs, and the values of their wildcards."""
        return set(re.split(r"[:=,/]", ",".join(self.targets)))


class Slurm:
    """Munge, one controller and the nodes ``n1`` and ``n2``, with all their files in one folder."""

    NODES = ("n1", "n2")
    #: Of each node, whatever the machine has.
    CPUS = 8

    def __init__(self, folder: Path):
        self.folder = folder
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._targets: dict[str, tuple[str, ...]] = {}

    def start(self) -> None:
        for name in ("controller", *self.NODES):
            (self.folder / name).mkdir()
        controller, *nodes = _free_ports(3)
        text = (HERE / "slurm.conf").read_text()
        fields = {"folder": str(self.folder), "controller_port": controller, "cpus": self.CPUS}
        fields |= {f"{name}_port": port for name, port in zip(self.NODES, nodes, strict=True)}
        CONFIGURATION.parent.mkdir(exist_ok=True)
        CONFIGURATION.write_text(text.format(**fields))
        self._start_munge()
        self._daemon("slurmctld", "slurmctld", "-D", "-i")
        for name in self.NODES:
            self.start_node(name)
        wait_until(lambda: self.states() == dict.fromkeys(self.NODES, "idle"), 60)

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        self.folder.chmod(0o755)
        files = {
            "socket": "munge.socket",
            "pid-file": "munged.pid",
            "log-file": "munged.log",
            "seed-file": "seed",
        }
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._daemon("munged", "munged", "--foreground", "--force", f"--key-file={key}", *options)
        wait_until((self.folder / "munge.socket").exists, 10)

    def _daemon(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as log:
            self.daemons[name] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def start_node(self, name: str) -> None:
        self._daemon(name, "slurmd", "-D", "-N", name)

    def kill_node(self, name: str) -> None:
        """Kill the daemon of a node; what it started goes on."""
        self.daemons[name].kill()
        self.daemons[name].wait()

    def stop(self) -> None:
        try:
            self._end_jobs()
        finally:
            for daemon in reversed(self.daemons.values()):
                daemon.terminate()
                try:
                    daemon.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    daemon.wait()
            # The steps of a node whose daemon was killed know of no cancellation.
            for process in left_over(self):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def _end_jobs(self) -> None:
        for job in self.jobs():
            if job.state in ("PENDING", "RUNNING", "COMPLETING"):
                self.cancel(job)
        wait_until(lambda: not any(job.state in ("RUNNING", "COMPLETING") for job in self.jobs()), 30)

    wait_until = staticmethod(wait_until)

    def node_log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def states(self) -> dict[str, str]:
        listed = self._ask("sinfo", "--noheader", "--Node", "--format=%N|%T")
        return dict(line.split("|") for line in listed.splitlines())

    def jobs(self) -> list[SlurmJob]:
        """All jobs so far, in the order of their submission."""
        listed = self._ask("squeue", "--noheader", "--states=all", "--sort=i", "--format=%i|%T|%l|%m|%C|%N")
        return [self._parse_job(line) for line in listed.splitlines()]

    def jobs_of(self, name: str) -> list[SlurmJob]:
        return [job for job in self.jobs() if name in job.names]

    def cancel(self, job: SlurmJob) -> None:
        subprocess.run(["scancel", job.id], check=True)

    def freeze(self, name: str) -> SlurmJob:
        """Wait for a job, and stop what it runs, so that it is still there when its fault happens."""
        wait_until(lambda: any(tasks_of(job) for job in self.jobs_of(name)))
        (job,) = self.jobs_of(name)
        for process in tasks_of(job):
            os.kill(process, signal.SIGSTOP)
        return job

    def thaw(self, job: SlurmJob) -> None:
        """Let a frozen job go on."""
        for process in tasks_of(job):
            os.kill(process, signal.SIGCONT)

    def wait_for(self, name: str, state: str, attempt: int = 1) -> SlurmJob:
        """Wait until an attempt at a job is in a state."""

        def there() -> bool:
            jobs = self.jobs_of(name)
            return len(jobs) >= attempt and jobs[attempt - 1].state == state

        wait_until(there, 180)
        return self.jobs_of(name)[attempt - 1]

    def _parse_job(self, line: str) -> SlurmJob:
        job_id, state, limit, memory, cpus, node = line.split("|")
        days, _, clock = limit.rpartition("-")
        hours, minutes, seconds = ([0, 0, 0] + [int(part) for part in clock.split(":")])[-3:]
        whole = int(days or 0) * 1440 + hours * 60 + minutes + (seconds > 0)
        megabytes = int(float(memory[:-1]) * {"M": 1, "G": 1024}[memory[-1]])
        return SlurmJob(job_id, state, whole, megabytes, int(cpus), node, self._targets_of(job_id))

    def _targets_of(self, job_id: str) -> tuple[str, ...]:
        """Return the Snakemake jobs that a job's script names, as ``rule:wildcard=value,...``."""
        if not self._targets.get(job_id):
            words = shlex.split(self._ask("scontrol", "write", "batch_script", job_id, "-"), comments=True)
            after = words[words.index("--target-jobs") + 1 :] if "--target-jobs" in words else []
            self._targets[job_id] = tuple(takewhile(lambda word: not word.startswith("-"), after))
        return self._targets[job_id]

    @staticmethod
    def _ask(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Workflow:
    """The command ``snakemake`` on a suite, by default one beside this file, with results in one folder."""

    def __init__(
        self, folder: Path, suite: str, profile: str | None = None, suites_dir: Path = HERE / "suites"
    ):
        self.folder = folder
        self.suite = suite
        self.profile = profile
        self.suites_dir = suites_dir

    def command(self, *arguments: str) -> list[str]:
        profile = ["--profile", str(REPOSITORY / "profiles" / self.profile)] if self.profile else []
        return [
            *(sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile")),
            *("--directory", str(self.folder), "--cores", "2", *profile, *arguments),
            *("--config", f"suites_dir={self.suites_dir}", f"suites=[{self.suite}]"),
        ]

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MLFLOW_")}
        environment |= {"EIGENBENCH_MIRROR": "", "PIP_NO_INDEX": "1"}
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "printed.log").open("ab") as log:
            return subprocess.Popen(
                self.command(*arguments), env=environment, stdout=log, stderr=log, start_new_session=True
            )

    @contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run in the background; at the end, end it as Ctrl-C does, so that its jobs are cancelled."""
        process = self.start(*arguments)
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                try:
                    process.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def run(self, *arguments: str, timeout: float = 400) -> str:
        with self.started(*arguments) as process:
            assert process.wait(timeout=timeout) == 0, self.printed()[-6000:]
        return self.printed()

    def printed(self) -> str:
        return (self.folder / "printed.log").read_text()

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def records(self) -> list[str]:
        """The record files that there are, by their paths below the results folder."""
        return sorted(str(path.relative_to(self.results)) for path in self.results.rglob("record.json*"))

    def planned_records(self) -> list[str]:
        """The record files that the suite is to have, by their paths below the results folder."""
        plan = plan_suite(load_suite(self.suites_dir / f"{self.suite}.yaml"), load_catalogue())
        return sorted(run.record for run in plan.runs)


def tasks_of(job: SlurmJob) -> list[int]:
    """Process ids of what the workflow runs in a job, first the one that supervises."""
    inside = f"SLURM_JOB_ID={job.id}"
    return sorted(
        process
        for process, command, variables in _processes()
        if inside in variables and "eigenbench.bench.jobs" in command
    )


def left_over(cluster: Slurm) -> list[int]:
    """Process ids of all that the daemons of a cluster and its clients started."""
    return [
        process
        for process, command, variables in _processes()
        # The title of a job step overwrites its environment.
        if f"{MARK}={cluster.folder}" in variables
        or (command[0].startswith("slurmstepd") and _logs_into(process, cluster.folder))
    ]


def _logs_into(process: int, folder: Path) -> bool:
    opened = []
    for entry in Path(f"/proc/{process}/fd").glob("*"):
        with suppress(OSError):
            opened.append(entry.readlink())
    return any(path.is_relative_to(folder) for path in opened)


def _processes() -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the id, command line and environment of all processes that can be read."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command, variables = (
                (entry / name).read_text(errors="replace").split("\0") for name in ("cmdline", "environ")
            )
            yield int(entry.name), command, variables


def _why_not() -> str | None:
    """Return why a SLURM cannot be brought up here, None if it can."""
    if os.geteuid() != 0:
        return "bringing up a SLURM needs root"
    missing = [command for command in COMMANDS if shutil.which(command) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (Debian: slurm-wlm slurm-wlm-basic-plugins munge)"
    if CONFIGURATION.exists() and "ClusterName=eigenbench" not in CONFIGURATION.read_text():
        return f"{CONFIGURATION} exists: this machine has a SLURM of its own"
    return None


@pytest.fixture(scope="session")
def need_plugin() -> Callable[[str], None]:
    """Skip where an executor is not installed: call with its name."""

    def need(name: str) -> None:
        if find_spec(f"snakemake_executor_plugin_{name.replace('-', '_')}") is None:
            pytest.skip(f"not installed: snakemake-executor-plugin-{name}")

    return need


@pytest.fixture(scope="module")
def slurm(tmp_path_factory) -> Iterator[Slurm]:
    """A running SLURM of two nodes; test processes take turns, because a machine has one configuration."""
    reason = _why_not()
    if reason:
        pytest.skip(reason)
    with (Path(tempfile.gettempdir()) / "eigenbench-tests-slurm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cluster = Slurm(tmp_path_factory.mktemp("slurm"))
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv(MARK, str(cluster.folder))
            try:
                cluster.start()
                yield cluster
            finally:
                cluster.stop()
                CONFIGURATION.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def make_workflow() -> type[Workflow]:
    """Return ``Workflow``: call it with a folder, a suite and the name of a profile."""
    return Workflow
