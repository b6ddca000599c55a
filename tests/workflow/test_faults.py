"""Faults give a clear message, and nothing is lost."""

import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager

import pandas as pd
import pytest
import yaml
from processes import processes_in

pytestmark = pytest.mark.workflow


def write_suite(folder, experiments):
    folder.mkdir(exist_ok=True)
    (folder / "tiny.yaml").write_text(yaml.safe_dump({"title": "A test", "experiments": experiments}))
    return folder


def experiment(**changes):
    names = {"methods": {"identity": {}}, "classifiers": ["CalibratedLeastSquares"]}
    return {"dataset": "digits"} | names | changes


@pytest.mark.slow
def test_when_snakemake_alone_is_killed_its_jobs_end_too(tmp_path, make_workflow):
    slow = experiment(
        methods={"gem": {"steps": [{"GEM": {"top": 20}}, "SignedPowers"]}}, seeds=list(range(40))
    )
    workflow = make_workflow(tmp_path, write_suite(tmp_path / "suites", {"slow": slow}))
    process = workflow.start()
    wait_until(lambda: fits_in(tmp_path), 120)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not fits_in(tmp_path), 90)


def fits_in(folder):
    told = (told for _, told in processes_in(folder))
    return [one for one in told if "eigenbench.bench.jobs train" in one and "snakemake" not in one]


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def test_a_misspelt_method_stops_the_run_before_any_work(tmp_path, make_workflow):
    suites = write_suite(tmp_path / "suites", {"main": experiment(methods={"gem": {"steps": ["GEMM"]}})})
    work = tmp_path / "work"
    work.mkdir()
    done = make_workflow(work, suites).run()
    assert done.returncode != 0
    assert "tiny.yaml" in done.stdout
    assert "unknown component 'GEMM'. Did you mean 'GEM'?" in done.stdout
    assert not (work / "results").exists()


@pytest.mark.slow
def test_a_dataset_that_no_source_gives_is_not_run_and_the_rest_goes_on(tmp_path, make_workflow):
    suites = write_suite(tmp_path / "suites", {"far": experiment(dataset="orl_faces"), "near": experiment()})
    workflow = make_workflow(tmp_path, suites)
    workflow.finish("reports/index.html")
    status = workflow.metrics().groupby("dataset").status.first()
    assert status["orl_faces"] == "not_run"
    assert status["digits"] == "ok"
    assert "orl_faces" in (tmp_path / "reports" / "index.html").read_text()
    planned = workflow.planned()
    assert "download orl_faces" in planned, "the next run tries again"
    assert "download digits" not in planned


@pytest.mark.slow
def test_one_run_at_a_time(tmp_path, make_workflow):
    workflow = make_workflow(tmp_path, write_suite(tmp_path / "suites", {"main": experiment()}))
    first = workflow.start("results/tiny/main/identity/seed-0/CalibratedLeastSquares/record.json")
    lock = tmp_path / "results" / ".lock"
    wait_until(lambda: lock.exists() and lock.read_text(), 60)
    second = workflow.run()
    assert second.returncode != 0
    assert "another run" in second.stdout
    assert first.wait(timeout=300) == 0
    assert len(workflow.records()) == 1


@pytest.mark.slow
def test_an_unreachable_tracking_server_loses_nothing_and_is_tried_again(tmp_path, make_workflow):
    workflow = make_workflow(tmp_path, write_suite(tmp_path / "suites", {"main": experiment()}))
    uri = "http://lab:planted5ecret@127.0.0.1:9/?token=planted5ecret"
    done = workflow.run(MLFLOW_TRACKING_URI=uri, MLFLOW_HTTP_REQUEST_MAX_RETRIES="1")
    assert done.returncode != 0
    assert "127.0.0.1:9" in done.stdout
    assert "planted5ecret" not in done.stdout
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"track.log"} <= {path.name for path in left}
    assert [path for path in left if b"planted5ecret" in path.read_bytes()] == []
    assert len(workflow.records()) == 1
    assert (tmp_path / "reports" / "index.html").exists(), "the report does not wait for MLflow"
    workflow.finish()
    assert (tmp_path / "results" / "tiny" / workflow.receipt).exists()


@contextmanager
def mounted(folder, options, *what):
    """Mount something on a folder, where that is allowed: by default a small file system in memory."""
    command = ["mount", "-o", options, *(what or ("-t", "tmpfs", "tmpfs")), str(folder)]
    try:
        allowed = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("mounting a file system needs root and the mount command")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


@pytest.mark.slow
def test_a_full_disk_is_a_fault_of_the_machine_and_never_a_result(tmp_path, make_workflow):
    methods = {f"random{n}": {"steps": [{"RandomDirections": {"n_components": n}}]} for n in (50, 60, 70)}
    suites = write_suite(tmp_path / "suites", {"main": experiment(methods=methods)})
    results = tmp_path / "results"
    results.mkdir()
    with mounted(results, "size=100k"):
        workflow = make_workflow(tmp_path, suites)
        done = workflow.run()
        assert done.returncode != 0
        assert "No space left on device" in done.stdout
        assert all(b'"failed"' not in path.read_bytes() for path in workflow.records())
        subprocess.run(["mount", "-o", "remount,size=200m", str(results)], check=True)
        workflow.finish("reports/index.html")
        assert set(workflow.results().status) == {"ok"}


def test_a_read_only_report_folder_is_named_and_read_only_data_are_used(copied, finished):
    reports = copied.folder / "reports"
    shutil.rmtree(reports)
    reports.mkdir()
    with mounted(reports, "ro"):
        done = copied.run()
        assert done.returncode != 0
        assert "reports: cannot write there (Read-only file system)" in done.stdout
    data = copied.folder / "data"
    with mounted(data, "bind,ro", str(data)):
        copied.finish()  # data that are complete may be read-only
    pd.testing.assert_frame_equal(copied.metrics(), finished[0].metrics())
