"""What happens when something goes wrong: a clear message, and nothing lost."""

import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
import yaml

pytestmark = pytest.mark.workflow


def write_suite(folder, experiments):
    folder.mkdir(exist_ok=True)
    (folder / "tiny.yaml").write_text(yaml.safe_dump({"title": "A test", "experiments": experiments}))
    return folder


def experiment(**changes):
    return {
        "dataset": "digits",
        "methods": {"identity": {}},
        "classifiers": ["CalibratedLeastSquares"],
    } | changes


@pytest.mark.parametrize("progress", [0.2, 0.7])
def test_kill_at_any_moment_then_the_same_command_finishes_with_the_same_records(
    tmp_path, finished, progress, make_workflow
):
    reference, _ = finished
    workflow = make_workflow(tmp_path)
    killed_at = 0
    total = sum(1 for _ in (reference.folder / "results").rglob("*.json"))
    process = workflow.start()
    while process.poll() is None:
        killed_at = sum(1 for _ in (tmp_path / "results").rglob("*.json"))
        if killed_at >= progress * total:
            break
        time.sleep(0.02)
    assert process.poll() is None, "the run ended before it could be killed"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = workflow.run()
    assert done.returncode == 0, done.stdout[-6000:]
    pd.testing.assert_frame_equal(workflow.metrics(), reference.metrics())


def test_when_snakemake_alone_is_killed_its_jobs_end_too(tmp_path, make_workflow):
    slow = experiment(
        methods={"gem": {"steps": [{"GEM": {"top": 20}}, "SignedPowers"]}}, seeds=list(range(40)), pack=True
    )
    workflow = make_workflow(tmp_path, write_suite(tmp_path / "suites", {"slow": slow}))
    process = workflow.start()
    wait_until(lambda: jobs_of(tmp_path), 120)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not jobs_of(tmp_path), 15)


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def jobs_of(folder):
    """Process ids of unit jobs that work in a folder."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [
        int(line.split()[0])
        for line in listed.splitlines()
        if "eigenbench.experiments embed" in line
        and "snakemake" not in line
        and _works_in(int(line.split()[0]), folder)
    ]


def _works_in(pid, folder):
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == folder
    except OSError:
        return False


def test_a_misspelt_method_stops_the_run_before_any_work(tmp_path, make_workflow):
    suites = write_suite(tmp_path / "suites", {"main": experiment(methods={"gem": {"steps": ["GEMM"]}})})
    work = tmp_path / "work"
    work.mkdir()
    done = make_workflow(work, suites).run()
    assert done.returncode != 0
    assert "tiny.yaml" in done.stdout
    assert "unknown method 'GEMM'. Did you mean 'GEM'?" in done.stdout
    assert not (work / "results").exists()


def test_a_dataset_that_cannot_be_had_is_not_run_and_the_rest_goes_on(tmp_path, make_workflow):
    suites = write_suite(tmp_path / "suites", {"far": experiment(dataset="orl_faces"), "near": experiment()})
    workflow = make_workflow(tmp_path, suites)
    done = workflow.run()
    assert done.returncode == 0, done.stdout[-6000:]
    status = workflow.metrics().groupby("dataset").status.first()
    assert status["orl_faces"] == "not_run"
    assert status["digits"] == "ok"
    assert "orl_faces" in (tmp_path / "reports" / "index.html").read_text()
    again = workflow.run("--dry-run")
    assert "download orl_faces" in again.stdout, "the next run tries again"
    assert "download digits" not in again.stdout


def test_one_run_at_a_time(tmp_path, make_workflow):
    workflow = make_workflow(tmp_path, write_suite(tmp_path / "suites", {"main": experiment()}))
    first = workflow.start()
    lock = tmp_path / ".snakemake" / "eigenbench.lock"
    wait_until(lambda: lock.exists() and lock.read_text(), 60)
    second = workflow.run()
    assert second.returncode != 0
    assert "another run" in second.stdout
    assert first.wait(timeout=300) == 0
    assert len(workflow.records()) == 1


def test_an_unreachable_tracking_server_loses_nothing_and_is_tried_again(tmp_path, make_workflow):
    workflow = make_workflow(tmp_path, write_suite(tmp_path / "suites", {"main": experiment()}))
    done = workflow.run(MLFLOW_TRACKING_URI="http://127.0.0.1:9")
    assert done.returncode != 0
    assert "127.0.0.1:9" in done.stdout
    assert len(workflow.records()) == 1
    assert (tmp_path / "reports" / "index.html").exists(), "the report does not wait for MLflow"
    again = workflow.run()
    assert again.returncode == 0, again.stdout[-4000:]
    assert len(list((tmp_path / "results" / "tracked" / "tiny").iterdir())) == 1


@contextmanager
def file_system(folder, options):
    """Mount a small file system in memory on a folder, where that is allowed."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a file system needs root and the mount command")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def test_a_full_disk_is_a_clear_error_and_the_run_goes_on_later(tmp_path, make_workflow):
    suites = write_suite(tmp_path / "suites", {"main": experiment()})
    small = tmp_path / "small"
    small.mkdir()
    with file_system(small, "size=400k"):
        workflow = make_workflow(small, suites)
        done = workflow.run()
        assert done.returncode != 0
        assert "No space left on device" in done.stdout
        subprocess.run(["mount", "-o", "remount,size=200m", str(small)], check=True)
        again = workflow.run()
        assert again.returncode == 0, again.stdout[-6000:]
        assert set(workflow.results().status) == {"ok"}


def test_a_read_only_report_folder_is_named_and_nothing_is_lost(copied, finished):
    reports = copied.folder / "reports"
    shutil.rmtree(reports)
    reports.mkdir()
    with file_system(reports, "ro"):
        done = copied.run()
        assert done.returncode != 0
        assert "reports: cannot write there (Read-only file system)" in done.stdout
    assert copied.run().returncode == 0
    pd.testing.assert_frame_equal(copied.metrics(), finished[0].metrics())


def test_damaged_prepared_data_fails_its_runs_and_can_be_made_again(tmp_path, make_workflow):
    workflow = make_workflow(tmp_path, write_suite(tmp_path / "suites", {"main": experiment()}))
    assert workflow.run("--until", "prepare").returncode == 0
    array = min((tmp_path / "data" / "prepared" / "digits").glob("X_*.npy"))
    array.write_bytes(array.read_bytes()[:100])
    done = workflow.run()
    assert done.returncode == 0, done.stdout[-6000:]
    assert set(workflow.results().status) == {"failed"}
    assert array.name in done.stdout
    done = workflow.run("--forcerun", "prepare")
    assert done.returncode == 0, done.stdout[-6000:]
    assert set(workflow.results().status) == {"ok"}
