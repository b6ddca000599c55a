"""Resources of an attempt at a job, and the limits of SLURM (a stand-in)."""

from types import SimpleNamespace

import pytest
from snakemake.resources import Resources

from eigenbench.bench.jobs import attempts
from eigenbench.bench.jobs.attempts import Attempts


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """Work in an empty folder; return a function that gives one of SLURM's commands an answer."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)

    def answer(command, text):
        script = tmp_path / "bin" / command
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        script.chmod(0o755)

    return answer


def asked(of, attempt, jobs=1):
    """The memory and the minutes of an attempt."""
    return of.mem_mb(1000)(None, attempt), of.runtime(30, lambda w: jobs)(None, attempt)


def test_each_attempt_asks_for_twice_as_much():
    assert [asked(Attempts(None), attempt) for attempt in (1, 2, 3)] == [(1000, 30), (2000, 60), (4000, 120)]
    assert Attempts(None).mem_mb(lambda w: w)(700, 2) == 1400


def test_no_attempt_asks_for_more_time_than_it_may():
    assert asked(Attempts(40), 2)[1] == 40
    assert asked(Attempts(100), 2, jobs=2)[1] == 50, "two jobs share the time of one cluster job"
    assert asked(Attempts(50), 2, jobs=2)[1] == 50, "they are too long to share one"
    assert Attempts(100).group("fit", 30, lambda w: 2)(None) == "fit"
    assert Attempts(50).group("fit", 30, lambda w: 2)(None) is None


@pytest.mark.parametrize(("partition", "limit"), [(None, 60), ("long", 2910), ("open", None), ("gone", None)])
def test_the_limit_of_the_partition_is_read(answers, partition, limit):
    answers("sinfo", "main*|1:00:00\nlong|2-00:30:00\nopen|infinite")
    asked = [f"slurm_partition={partition}"] if partition else []
    resources = Resources.parse(asked, allow_expressions=True)
    snakemake = SimpleNamespace(
        executor_plugin=SimpleNamespace(name="slurm"),
        resource_settings=SimpleNamespace(default_resources=resources),
    )
    assert Attempts(None, snakemake).max_runtime == limit
    assert Attempts(5, snakemake).max_runtime == 5
    snakemake.executor_plugin.name = "local"
    assert Attempts(None, snakemake).max_runtime is None


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
