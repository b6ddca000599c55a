"""Every command is killed at random moments: the same command then ends as an undisturbed one does.

``EIGENBENCH_KILLS`` sets the number of kills in all (10), ``EIGENBENCH_KILL_SEED`` their moments (0).
The long form is ``EIGENBENCH_KILLS=100 pytest -m slow tests/workflow/test_kills.py``.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pandas as pd
import pytest
import yaml
from processes import processes_in
from sklearn.datasets import load_iris
from tracked_runs import tracked

from eigenbench.bench.records.record import read_record

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

KILLS = int(os.environ.get("EIGENBENCH_KILLS", "10"))
SEED = int(os.environ.get("EIGENBENCH_KILL_SEED", "0"))
SUITE = {
    "title": "Four records",
    "experiments": {
        "main": {
            "dataset": "digits",
            "seeds": [0, 1],
            "methods": {"identity": {}, "random": {"steps": [{"RandomDirections": {"n_components": 20}}]}},
            "classifiers": ["CalibratedLeastSquares"],
        }
    },
}
RUN = ["run", "--cores", "2", "--config", "suites_dir=suites", "suites=[tiny]"]

CLI = ("-m", "eigenbench.cli")
PLAN = ("tiny", "--suites-dir", "suites")
COMPARE = ("compare", "iris.csv", "--target", "target", "--cv", "2", "--jobs", "1", "--methods", "random,pca")

#: The commands, and the folder or file that each leaves. The first works in an empty folder, the others
#: beside its results.
COMMANDS = {
    "run": ((*CLI, *RUN), "reports"),
    "import": ((*CLI, "sync", "--suites-dir", "suites"), "mlflow.db"),
    "report": (
        ("-m", "eigenbench.reporting", "--suite", "suites/tiny.yaml", "--reports-dir", "page"),
        "page",
    ),
    "export": ((*CLI, "export", *PLAN, "--out", "paper"), "paper"),
    "crate": ((*CLI, "crate", *PLAN, "--out", "crate"), "crate"),
    "verify": ((*CLI, "verify", *PLAN, "--reference-dir", "reports"), "reports/receipts"),
    "compare": ((*CLI, *COMPARE, "--out", "answer"), "answer"),
}


def start(folder, command):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    with (folder / "printed.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, *COMMANDS[command][0]],
            cwd=folder,
            env=environment | {"EIGENBENCH_MIRROR": "", "PIP_NO_INDEX": "1"},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def finish(folder, command):
    """Run a command undisturbed; return how long it took."""
    started = time.monotonic()
    code = start(folder, command).wait(timeout=600)
    assert code == 0, (folder / "printed.log").read_text()[-6000:]
    return time.monotonic() - started


def kill_all(process, folder):
    """Kill the process group, then whatever else works in the folder."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for number, _ in processes_in(folder):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def records(folder):
    return {str(path.relative_to(folder)): read_record(path) for path in folder.rglob("record.json")}


def outcome(folder, command):
    """Results of a finished command, without times."""
    left = folder / COMMANDS[command][1]
    files = [path for path in left.rglob("*") if path.is_file()]
    match command:
        case "run" | "import":
            table = pd.read_csv(folder / "reports/results.csv")
            columns = ["method", "classifier", "seed", "metric", "value", "status", "run_key"]
            return table[columns].to_csv(), tracked(folder)
        case "verify":
            (receipt,) = (json.loads(path.read_bytes()) for path in files)
            return receipt["runs"]
        case "compare":
            keys = {path: (one.run_key, one.metrics) for path, one in records(left / "results").items()}
            return keys, sorted(path.name for path in left.iterdir())
        case "crate":  # the description has the date
            files = [path for path in files if path.name != "ro-crate-metadata.json"]
    return {str(path.relative_to(left)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A folder in which every command ran, what each left, and the seconds that each took."""
    folder = tmp_path_factory.mktemp("undisturbed")
    prepare(folder)
    seconds = {command: finish(folder, command) for command in COMMANDS}
    return folder, {command: outcome(folder, command) for command in COMMANDS}, seconds


def prepare(folder):
    (folder / "suites").mkdir()
    (folder / "suites/tiny.yaml").write_text(yaml.safe_dump(SUITE))
    load_iris(as_frame=True).frame.to_csv(folder / "iris.csv", index=False)


def begin(folder, command, undisturbed):
    """Make a folder in which a command has not run."""
    folder.mkdir()
    if command == "run":
        prepare(folder)
        return
    shutil.copytree(undisturbed, folder, symlinks=True, dirs_exist_ok=True)
    place = folder / COMMANDS[command][1]
    for left in (place, folder / "mlflow.db.lock" if command == "import" else place):
        shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_command_ends_as_an_undisturbed_one(command, undisturbed, tmp_path):
    whole, expected, seconds = undisturbed
    names = list(COMMANDS)
    kills = KILLS // len(names) + (names.index(command) < KILLS % len(names))
    moments = random.Random(f"{SEED} {command}")
    folder = tmp_path / "work"
    begin(folder, command, whole)
    for _ in range(kills):
        process = start(folder, command)
        try:
            process.wait(timeout=moments.uniform(0.1, seconds[command]))
        except subprocess.TimeoutExpired:
            kill_all(process, folder)
            assert all(record.status == "ok" for record in records(folder).values())
            if command == "crate" and (folder / "crate").exists():  # only a complete one has this name
                assert outcome(folder, command) == expected[command]
                shutil.rmtree(folder / "crate")
            continue
        assert outcome(folder, command) == expected[command], "it ended before it could be killed"
        shutil.rmtree(folder)
        begin(folder, command, whole)
    finish(folder, command)
    assert outcome(folder, command) == expected[command]
    assert [path for path in folder.rglob("*.tmp") if ".snakemake" not in path.parts] == []
