"""What happens when something goes wrong: a clear message, and nothing lost."""

import os
import signal
import subprocess
import time
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


@pytest.mark.parametrize("progress", [0.15, 0.5, 0.85])
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
    deadline = time.monotonic() + 120
    while not jobs_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert jobs_of(tmp_path), "no job was started"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 15
    while jobs_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not jobs_of(tmp_path)


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
    workflow = make_workflow(tmp_path)
    first = workflow.start()
    deadline = time.monotonic() + 60
    lock = tmp_path / ".snakemake" / "eigenbench.lock"
    while not (lock.exists() and lock.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    second = workflow.run()
    assert second.returncode != 0
    assert "another run" in second.stdout
    assert first.wait(timeout=300) == 0
    assert len(workflow.records()) == 11


def test_a_read_only_report_folder_is_named_and_nothing_is_lost(copied, finished):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere; tests/reporting covers the message")
    reports = copied.folder / "reports"
    (reports / "index.html").unlink()
    reports.chmod(0o555)
    try:
        done = copied.run()
        assert done.returncode != 0
        assert "reports" in done.stdout
    finally:
        reports.chmod(0o755)
    assert copied.run().returncode == 0
    pd.testing.assert_frame_equal(copied.metrics(), finished[0].metrics())


def test_an_unreachable_tracking_server_loses_nothing_and_is_tried_again(tmp_path, make_workflow):
    suites = write_suite(tmp_path / "suites", {"main": experiment()})
    workflow = make_workflow(tmp_path, suites)
    done = workflow.run(MLFLOW_TRACKING_URI="http://127.0.0.1:9")
    assert done.returncode != 0
    assert "127.0.0.1:9" in done.stdout
    assert len(workflow.records()) == 1
    assert (tmp_path / "reports" / "index.html").exists(), "the report does not wait for MLflow"
    again = workflow.run()
    assert again.returncode == 0, again.stdout[-4000:]
    assert len(list((tmp_path / "results" / "tracked" / "tiny").iterdir())) == 1


def test_a_full_disk_is_a_clear_error_and_the_run_goes_on_later(tmp_path, finished, make_workflow):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(small)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        workflow = make_workflow(small)
        done = workflow.run()
        assert done.returncode != 0
        assert "No space left on device" in done.stdout
        subprocess.run(["mount", "-o", "remount,size=200m", str(small)], check=True)
        again = workflow.run()
        assert again.returncode == 0, again.stdout[-6000:]
        pd.testing.assert_frame_equal(workflow.metrics(), finished[0].metrics())
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


def test_altered_prepared_data_is_found(copied):
    arrays = sorted((copied.folder / "data" / "prepared" / "digits").glob("*.npy"))
    arrays[0].write_bytes(arrays[0].read_bytes()[:100])
    for record in copied.records():
        record.unlink()
    for stage in ("moments", "embed", "train", "evaluate", "select", "artifacts"):
        for path in (copied.folder / "results" / stage).rglob("*"):
            if path.is_file():
                path.unlink()
    done = copied.run()
    assert arrays[0].name in done.stdout or "digits" in done.stdout
    assert set(copied.results().status) == {"failed"}
