"""The Kubernetes profile with a ``kubectl`` that runs the containers' commands on this machine.

It shows that the scripts and Snakemake understand each other, not that a cluster accepts the jobs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.workflow

SCRIPTS = Path(__file__).resolve().parents[2] / "profiles" / "kubernetes"
SETTINGS = {
    "EIGENBENCH_IMAGE": "registry.example/eigenbench:1",
    "EIGENBENCH_CLAIM": "shared",
    "EIGENBENCH_MOUNT": "/shared",
}

KUBECTL = """#!{python}
import json, pathlib, subprocess, sys
state = pathlib.Path({state!r})
verb, *rest = sys.argv[1:]
if verb == "create":
    job = json.load(sys.stdin)
    name = job["metadata"]["name"]
    (state / f"{{name}}.json").write_text(json.dumps(job))
    command = job["spec"]["template"]["spec"]["containers"][0]["command"]
    run = '"$@" >/dev/null 2>&1 && echo Complete >"$0" || echo Failed >"$0"'
    subprocess.Popen(["sh", "-c", run, state / f"{{name}}.ended", *command], stdout=subprocess.DEVNULL)
    print("created")
elif verb == "get":
    name = rest[1]
    if not (state / f"{{name}}.json").exists():
        sys.exit(f"Error from server (NotFound): {{name}} not found")
    ended = state / f"{{name}}.ended"
    print(ended.read_text().strip() if ended.exists() else "")
"""


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    """Put a ``kubectl`` first in the path; return the folder with the jobs that it was given."""
    state = tmp_path / "kubernetes"
    state.mkdir()
    script = tmp_path / "bin" / "kubectl"
    script.parent.mkdir()
    script.write_text(KUBECTL.format(python=sys.executable, state=str(state)))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    return state


@pytest.mark.slow
def test_a_suite_is_run_as_jobs_of_kubernetes(kubectl, tmp_path, need_plugin, make_workflow):
    need_plugin("cluster-generic")
    workflow = make_workflow(tmp_path / "run", "single", "kubernetes")
    workflow.run()
    assert workflow.records() == workflow.planned_records()
    jobs = [json.loads(path.read_text()) for path in kubectl.glob("*.json")]
    assert len(jobs) == 2, "prepare, and one job for the two methods"
    for job in jobs:
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert container["image"] == SETTINGS["EIGENBENCH_IMAGE"]
        assert container["resources"]["requests"]["memory"] in ("1500M", "2000M")
        assert job["spec"]["activeDeadlineSeconds"] >= 300


@pytest.mark.parametrize("missing", SETTINGS)
def test_what_is_not_set_is_named(kubectl, tmp_path, monkeypatch, missing):
    monkeypatch.delenv(missing)
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n")
    done = subprocess.run([SCRIPTS / "submit.py", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert missing in done.stderr


def test_a_job_that_is_gone_has_failed(kubectl):
    done = subprocess.run([SCRIPTS / "status.sh", "none"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "failed"


def test_a_silent_server_is_asked_again(kubectl, tmp_path):
    (tmp_path / "bin" / "kubectl").write_text("#!/bin/sh\necho 'connection refused' >&2\nexit 1\n")
    done = subprocess.run([SCRIPTS / "status.sh", "any"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "running"
