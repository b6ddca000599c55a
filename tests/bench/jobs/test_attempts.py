"""What an attempt at a job asks for, by what the attempt before ran out of; SLURM is a stand-in."""

from types import SimpleNamespace

import pytest
from snakemake.resources import Resources

from eigenbench.bench.jobs import attempts
from eigenbench.bench.jobs.attempts import Attempts

LOGS = {"train": "logs/{folder}/train.log"}


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """Work in an empty folder; return a function that gives one of SLURM's commands an answer."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "logs/s").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)

    def answer(command, text):
        script = tmp_path / "bin" / command
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        script.chmod(0o755)

    return answer


def asked(of, attempt, jobs=1):
    """The memory and the minutes of an attempt."""
    place = {"wildcards": {"folder": "s"}, "attempt": attempt, "rulename": "train"}
    return of.mem_mb(1000)(**place), of.runtime(30, lambda w: jobs)(**place)


@pytest.mark.parametrize(
    ("log", "state", "second"),
    [
        ("stage train: the process ended with signal SIGKILL (usually out of memory)", "FAILED", (2000, 30)),
        ("SLURM job 7", "OUT_OF_MEMORY", (2000, 30)),
        ("SLURM job 7: out of memory", "FAILED", (2000, 30)),
        ("SLURM job 7: out of memory", "TIMEOUT", (1000, 60)),
        ("SLURM job 7", "TIMEOUT", (1000, 60)),
        ("SLURM job 7", "CANCELLED", (1000, 30)),
        ("SLURM job 7", "NODE_FAIL", (1000, 30)),
        ("SLURM job 7", "FAILED", (1000, 30)),
        ("no scheduler, or one that is not asked", "", (2000, 60)),
        ("", "", (1000, 30)),
        (None, "", (1000, 30)),
    ],
)
def test_only_what_was_lacking_is_doubled(answers, tmp_path, log, state, second):
    answers("scontrol", f"JobId=7 JobState={state} Reason=None")
    if log is not None:
        (tmp_path / "logs/s/train.log").write_text(log)
    assert asked(Attempts(LOGS, None), 1) == (1000, 30)
    assert asked(Attempts(LOGS, None), 2) == second


def test_a_kill_that_slurm_calls_a_failure_is_a_lack_of_memory_by_its_log(answers, tmp_path):
    answers("scontrol", "JobId=7 JobState=FAILED Reason=NonZeroExitCode")
    (tmp_path / "logs/s/train.log").write_text("SLURM job 7")
    log = tmp_path / ".snakemake/slurm_logs/rule_train/s/7.log"
    log.parent.mkdir(parents=True)
    log.write_text("slurmstepd: error: Exceeded job memory limit\n")
    assert asked(Attempts(LOGS, None), 2) == (2000, 30)


def test_each_lack_counts_once(answers, tmp_path):
    of = Attempts(LOGS, None)
    (tmp_path / "logs/s/train.log").write_text("SLURM job 7")
    answers("scontrol", "JobState=TIMEOUT")
    assert asked(of, 2) == (1000, 60)
    answers("scontrol", "JobState=OUT_OF_MEMORY")
    assert asked(of, 3) == (2000, 60)


def test_no_attempt_asks_for_more_time_than_it_may(answers, tmp_path):
    (tmp_path / "logs/s/train.log").write_text("nothing is known")
    assert asked(Attempts(LOGS, 40), 2)[1] == 40
    assert asked(Attempts(LOGS, 100), 2, jobs=2)[1] == 50, "two jobs share the time of one cluster job"
    assert asked(Attempts(LOGS, 50), 2, jobs=2)[1] == 50, "they are too long to share one"
    assert Attempts(LOGS, 100).group("fit", 30, lambda w: 2)(None) == "fit"
    assert Attempts(LOGS, 50).group("fit", 30, lambda w: 2)(None) is None


@pytest.mark.parametrize(("partition", "limit"), [(None, 60), ("long", 2910), ("open", None), ("gone", None)])
def test_the_limit_of_the_partition_is_read(answers, partition, limit):
    answers("sinfo", "main*|1:00:00\nlong|2-00:30:00\nopen|infinite")
    asked = [f"slurm_partition={partition}"] if partition else []
    resources = Resources.parse(asked, allow_expressions=True)
    snakemake = SimpleNamespace(
        executor_plugin=SimpleNamespace(name="slurm"),
        resource_settings=SimpleNamespace(default_resources=resources),
    )
    assert Attempts(LOGS, None, snakemake).max_runtime == limit
    assert Attempts(LOGS, 5, snakemake).max_runtime == 5
    snakemake.executor_plugin.name = "local"
    assert Attempts(LOGS, None, snakemake).max_runtime is None


def test_a_job_that_can_never_start_is_cancelled_and_named_once(answers, tmp_path):
    waiting = "8|PartitionTimeLimit|2:00:00|main|/here\n9|PartitionTimeLimit|2:00:00|main|/here"
    others = "6|Resources|2:00:00|main|/here\n7|PartitionTimeLimit|2:00:00|main|/elsewhere"
    answers("squeue", f"{waiting}\n{others}")
    (tmp_path / "bin/scancel").write_text(f"#!/bin/sh\necho $1 >> {tmp_path / 'cancelled'}\n")
    (tmp_path / "bin/scancel").chmod(0o755)
    warnings = []
    attempts.cancel_what_cannot_start("/here", warnings.append)
    assert (tmp_path / "cancelled").read_text().split() == ["8", "9"]
    (message,) = warnings
    assert "asks for 120 minutes, more than SLURM allows on the partition main" in message
    assert "max_runtime" in message
