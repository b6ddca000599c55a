"""The view of a run, fed with the events that Snakemake sends."""

import io
import json
import logging
import re
from types import SimpleNamespace

import pytest
from rich.console import Console
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

import snakemake_logger_plugin_eigenbench as plugin
from snakemake_logger_plugin_eigenbench import View
from snakemake_logger_plugin_eigenbench.job_progress import Job, JobProgress

#: Options for what Snakemake itself shows.
DETAILS = ("dryrun", "verbose", "printshellcmds", "debug_dag")


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def progress(clock):
    return JobProgress(clock)


@pytest.fixture
def handler(monkeypatch):
    """The plugin as Snakemake makes it, printing into a text."""
    monkeypatch.delenv("EIGENBENCH_WATCHED", raising=False)
    options = dict.fromkeys(DETAILS, False)
    settings = SimpleNamespace(**options, stdout=True, nocolor=True, quiet=set())
    made = LoggerPluginRegistry().get_plugin("eigenbench").log_handler(settings, None)
    made.text = io.StringIO()
    made.view.console = Console(file=made.text, width=200)
    return made


def send(handler, event=None, message=None, level=logging.INFO, **fields):
    record = logging.LogRecord("snakemake", level, "", 0, message, (), None)
    record.__dict__ |= {"event": event} | fields
    handler.emit(record)


def job_info(jobid, text="train tiny/grid/gem", shellcmd="exec python", log=(), output=()):
    names = {"jobid": jobid, "rule_msg": text, "rule_name": "train"}
    return names | {"shellcmd": shellcmd, "log": list(log), "output": list(output)}


def test_a_run_is_a_line_for_each_job_without_the_chatter(handler):
    send(handler, LogEvent.RUN_INFO, "Job stats", stats={"train": 1, "all": 1, "total": 2})
    send(handler, expected={"train": 300.0})
    send(handler, None, "Select jobs to execute...")
    send(handler, LogEvent.JOB_INFO, **job_info(1))
    send(handler, LogEvent.JOB_FINISHED, job_id=1)
    send(handler, LogEvent.PROGRESS, done=1, total=2)
    send(handler, LogEvent.JOB_INFO, **job_info(0, "all done", shellcmd=None))
    send(handler, LogEvent.JOB_FINISHED, job_id=0)
    send(handler, LogEvent.PROGRESS, done=2, total=2)
    handler.close()
    first, second, last = handler.text.getvalue().splitlines()
    assert first == "2 jobs, about 5 min left"
    assert second.startswith("1 of 2 done: train tiny/grid/gem (0 s)")
    assert last.startswith("2 of 2 jobs done in ")


def test_a_job_that_fails_is_told_at_once_with_the_end_of_its_log(handler, tmp_path):
    log = tmp_path / "fit.log"
    log.write_text("".join(f"line {number}\n" for number in range(1000)) + "MemoryError: too large\n\n")
    send(handler, LogEvent.JOB_INFO, **job_info(1, log=[str(log)]))
    send(handler, LogEvent.JOB_ERROR, "Error in rule train", logging.ERROR, **job_info(1, log=[str(log)]))
    shown = handler.text.getvalue().splitlines()[1:]
    assert shown[0] == f"failed: train tiny/grid/gem; log: {log}"
    assert shown[1:] == ["    line 998", "    line 999", "    MemoryError: too large"]


def test_a_group_that_slurm_ended_is_told_once_with_the_reason(handler, tmp_path, monkeypatch):
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\necho JobId=$4 JobState=TIMEOUT Reason=TimeLimit\n")
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    send(handler, None, "Could not retrieve node information for job 7: sacct", logging.WARNING)
    send(handler, LogEvent.JOB_INFO, **job_info(1, log=["a.log"]))
    group = {"aux_logs": ["/x/.snakemake/slurm_logs/group_fit/7.log"], "job_error_info": [job_info(1)]}
    send(handler, LogEvent.GROUP_ERROR, "Error in group", logging.ERROR, **group)
    send(handler, LogEvent.JOB_ERROR, "Error in rule train", logging.ERROR, **job_info(1))
    (shown,) = handler.text.getvalue().splitlines()[1:]
    assert shown == f"failed: train tiny/grid/gem (out of time); log: {group['aux_logs'][0]}"


def test_runs_without_result_in_a_job_that_went_well_are_told_too(handler, tmp_path):
    failure = {"type": "ValueError", "message": "gamma is\nnegative"}
    paths = [tmp_path / f"seed-{seed}" / "record.json" for seed in range(5)]
    contents = [("failed", failure), ("failed", failure), ("ok", None), ("not_run", None), ("ok", None)]
    for path, (status, why) in zip(paths, contents, strict=True):
        path.parent.mkdir()
        tried = [{"status": "failed" if path == paths[-1] else "ok"}, {"status": "ok"}]
        search = {"search": {"candidates": tried}} if status == "ok" else {}
        path.write_text(json.dumps({"status": status, "failure": why} | search))
    outputs = map(str, [*paths, tmp_path / "absent" / "record.json"])
    send(handler, LogEvent.JOB_INFO, **job_info(1, output=outputs))
    send(handler, LogEvent.JOB_FINISHED, job_id=1)
    assert handler.text.getvalue().splitlines()[2:] == [
        f"failed: ValueError: gamma is negative ({tmp_path}/seed-0 and 1 more)",
        f"not run: no reason recorded ({tmp_path}/seed-3)",
        f"1 of 2 candidates of the search failed ({tmp_path}/seed-4)",
    ]


def test_errors_warnings_and_an_end_without_work_are_shown(handler):
    send(handler, None, "Nothing to be done (all requested files are present and up to date).")
    send(handler, LogEvent.ERROR, "WorkflowError: [no suite]", logging.ERROR)
    send(handler, None, "the clock went back", logging.WARNING)
    first_words = [line.split()[0] for line in handler.text.getvalue().splitlines()]
    assert first_words == ["Nothing", "WorkflowError:", "the"]


def test_text_that_cannot_be_shown_does_not_end_a_run(handler, capsys):
    handler.view.console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    send(handler, None, "é", logging.WARNING)
    assert "UnicodeEncodeError" in capsys.readouterr().err


@pytest.mark.parametrize("option", DETAILS)
def test_who_asks_for_details_sees_what_snakemake_shows(handler, option, capsys):
    setattr(handler.common_settings, option, True)
    other = plugin.LogHandler(handler.common_settings, None)
    other.setFormatter(logging.Formatter("formatted: %(message)s"))
    send(other, None, "Building DAG of jobs...")
    other.close()
    assert capsys.readouterr().out == "formatted: Building DAG of jobs...\n"


def expect(progress, seconds, count):
    """Expect so many jobs of one rule, of so many seconds each."""
    progress.expected = {"fit": seconds}
    progress.left["fit"] = progress.total = count


def test_time_left_goes_from_what_is_expected_on_all_cores_to_the_pace_of_the_run(progress, clock):
    assert progress.seconds_left is None
    progress.cores = 2
    clock.now += 3600  # before the first job nothing is said about the pace
    expect(progress, 6000.0, 4)
    assert progress.seconds_left == 12_000
    for number in (1, 2):
        progress.start(number, Job("a", "fit"))
    clock.now += 10
    assert progress.seconds_left == pytest.approx(12_000, rel=0.01)
    clock.now += 11_990  # twice as slow as expected
    for number in (1, 2):
        progress.finish(number)
    assert progress.seconds_left == pytest.approx(12_000, rel=0.01)
    for number in (3, 4):
        progress.start(number, Job("a", "fit"))
        progress.finish(number)
    assert progress.seconds_left == 0


def test_one_slow_job_at_the_beginning_foretells_no_days(progress, clock):
    progress.cores = 2
    progress.expected = {"small": 0.5, "large": 1000.0}
    progress.left.update({"small": 1, "large": 1})
    progress.start(1, Job("a", "small"))
    clock.now += 20
    progress.finish(1)
    assert progress.seconds_left < 1000


@pytest.mark.parametrize("seconds", [0.0, 1e5, 1.0])
def test_time_left_is_never_negative(progress, clock, seconds):
    expect(progress, 10.0, 3)
    for jobid in (1, 2):
        progress.start(jobid, Job("a", "fit"))
        clock.now += seconds
        assert progress.seconds_left > 0, "a job that takes longer than expected is never done"
        progress.finish(jobid)
        assert progress.seconds_left > 0


def test_a_job_that_failed_counts_again_when_it_is_tried_again(progress, clock):
    expect(progress, 10.0, 2)
    progress.start(1, Job("a", "fit"))
    clock.now += 5
    assert progress.finish(1, failed=True).seconds == 5
    assert progress.running == []
    assert progress.seconds_left >= 18


def shown(view):
    """Return what a view prints while jobs run."""
    with view.console.capture() as capture:
        view.console.print(view.shown())
    return capture.get()


def test_the_live_view_shows_what_runs_and_what_it_last_said_and_leaves_one_line(progress, clock, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("12:00:00 epoch 1\n12:00:01 epoch 2\n")
    text = io.StringIO()
    console = Console(file=text, width=100, force_terminal=True, legacy_windows=False)
    view = View(console, progress)
    expect(progress, 100.0, 2)
    progress.start(1, Job("train gem", "fit", [str(log)]))
    clock.now += 7
    told = re.sub(r"\x1b\[[0-9;]*m", "", shown(view))
    assert "0 of 2 jobs, about 3 min left" in told
    assert "\n  train gem  7 s  epoch 2\n" in told
    assert "epoch 1" not in told
    view.start()
    view.stop()
    view.stop()
    assert text.getvalue().count("of 2 jobs done in 7 s") == 1


def test_of_a_job_of_many_methods_the_progress_stays_in_sight(progress, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("12:00:01 search pca, LinearSVC, seed 3\n")
    text = "train comparison/adult: " + ", ".join(f"method_{n}" for n in range(27))
    progress.start(1, Job(text, "fit", [str(log)]))
    _, line = shown(View(Console(file=io.StringIO(), width=80), progress)).splitlines()
    assert line.startswith("  train comparison/adult: method_0")
    assert line.rstrip().endswith("…  0 s  search pca, LinearSVC, seed 3")


def test_many_running_jobs_take_few_lines(progress):
    for number in range(50):
        progress.start(number, Job(f"job {number}"))
    told = shown(View(Console(file=io.StringIO(), width=100), progress))
    assert len(told.splitlines()) == 8
    assert "and 44 more" in told
