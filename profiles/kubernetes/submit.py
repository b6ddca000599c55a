#!/usr/bin/env python3
"""Make a Kubernetes Job of a Snakemake job, and print its name: submit.py JOBSCRIPT.

The environment names the image (EIGENBENCH_IMAGE, what the Dockerfile builds), the claim of a volume that
many pods can write (EIGENBENCH_CLAIM), and where it is mounted (EIGENBENCH_MOUNT), here and in the pods.
"""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path


def manifest(script: Path) -> dict:
    """Return the Job that runs a script as this user, within the resources that Snakemake asks for."""
    settings = {name: os.environ.get(f"EIGENBENCH_{name}") for name in ("IMAGE", "CLAIM", "MOUNT")}
    missing = [f"EIGENBENCH_{name}" for name, value in settings.items() if not value]
    if missing:
        sys.exit(f"not set: {', '.join(missing)}; {__doc__}")
    asked = properties(script)
    memory = f"{asked['resources']['mem_mb']}M"
    container = {
        "name": "job",
        "image": settings["IMAGE"],
        "command": ["/bin/sh", str(script.resolve())],
        "env": [{"name": "HOME", "value": "/tmp"}],
        "resources": {"requests": {"cpu": asked["threads"], "memory": memory}, "limits": {"memory": memory}},
        "volumeMounts": [{"name": "shared", "mountPath": settings["MOUNT"]}],
    }
    pod = {
        "restartPolicy": "Never",
        "securityContext": {"runAsUser": os.getuid(), "runAsGroup": os.getgid()},
        "containers": [container],
        "volumes": [{"name": "shared", "persistentVolumeClaim": {"claimName": settings["CLAIM"]}}],
    }
    spec = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": 60 * asked["resources"]["runtime"],
        "ttlSecondsAfterFinished": 3600,
        "template": {"spec": pod},
    }
    name = f"eigenbench-{uuid.uuid4().hex[:12]}"
    metadata = {"name": name, "labels": {"app": "eigenbench"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def properties(script: Path) -> dict:
    """Return what Snakemake writes into a job script about the job."""
    mark = "# properties = "
    (line,) = (line for line in script.read_text().splitlines() if line.startswith(mark))
    return json.loads(line.removeprefix(mark))


if __name__ == "__main__":
    job = manifest(Path(sys.argv[1]))
    subprocess.run(
        ["kubectl", "create", "-f", "-"], input=json.dumps(job), text=True, stdout=sys.stderr, check=True
    )
    print(job["metadata"]["name"])
