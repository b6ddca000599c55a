"""Every profile that is not run here is at least planned with, and its script checked."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.workflow

PROFILES = Path(__file__).resolve().parents[2] / "profiles"
PLUGINS = {"slurm": "slurm", "batch": "cluster-generic", "kubernetes": "cluster-generic"}


def test_no_profile_is_forgotten():
    assert {path.parent.name for path in PROFILES.glob("*/config.yaml")} == {*PLUGINS, "default", "s3"}


@pytest.mark.parametrize("profile", ["batch", "kubernetes"])  # test_groups.py plans with that of SLURM
def test_a_dry_run_with_the_profile_plans_the_suite(profile, tmp_path, need_plugin, make_workflow):
    need_plugin(PLUGINS[profile])
    printed = make_workflow(tmp_path, "single", profile).run("--dry-run")
    assert "Group job method" in printed
    assert "train single/methods: gem, plain" in printed


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ("JobId=7 JobName=x JobState=RUNNING Reason=None", 0, "running"),
        ("JobId=7 JobName=x JobState=PENDING Reason=Resources", 0, "running"),
        ("JobId=7 JobName=x JobState=COMPLETED Reason=None", 0, "success"),
        ("JobId=7 JobName=x JobState=OUT_OF_MEMORY Reason=OutOfMemory", 0, "failed"),
        ("JobId=7 JobName=x JobState=NODE_FAIL Reason=NodeDown", 0, "failed"),
        ("slurm_load_jobs error: Invalid job id specified", 1, "failed"),
        ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1, "running"),
    ],
)
def test_the_status_script_reads_what_the_scheduler_says(tmp_path, answer, status, said):
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
    scontrol.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [PROFILES / "batch" / "status.sh", "7"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == said
