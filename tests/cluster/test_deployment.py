"""``--sdm`` conda and apptainer, with stand-ins for both programs that Snakemake calls as it would them."""

import os
import sys

import pytest

pytestmark = pytest.mark.workflow

# A Python that notes how it was started; it installs nothing.
PYTHON = f"""#!/bin/sh
echo "$@" >> {{log}}
[ "$2" = pip ] || exec {sys.executable} "$@"
"""

# What Snakemake asks of conda: what it is, and an environment from a file.
CONDA = """#!/bin/sh
case "$1 $2" in
    "info --json") echo '{{"conda_prefix": "{prefix}", "platform": "linux-64"}}' ;;
    "--version ") echo "conda 25.1.1" ;;
    "config --get") echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
    "env create")
        for word; do target=$word; done
        mkdir -p "${{target#--prefix }}/bin"
        cp {python} "$target/bin/python" ;;
esac
"""
ACTIVATE = 'export PATH="$1/bin:$PATH"\n'

# What it asks of apptainer: its version, and a command in an image.
APPTAINER = """#!/bin/sh
if [ "$1" = --version ]; then echo "apptainer version 1.3.4"; exit; fi
for word; do
    [ "$previous" = bash ] && [ "$word" = -c ] && break
    previous=$word
    case "$word" in *.sif) echo "$word" >> {log} ;; esac
done
for command; do :; done
PATH="{inside}:$PATH" exec bash -c "$command"
"""


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """The stand-ins, first on the path; return the file with what they noted."""
    log, inside = tmp_path / "started.txt", tmp_path / "inside"
    write_program(inside / "python", PYTHON.format(log=log))
    base = tmp_path / "base"
    write_program(base / "bin" / "conda", CONDA.format(prefix=base, python=inside / "python"))
    write_program(base / "bin" / "activate", ACTIVATE)
    write_program(base / "bin" / "apptainer", APPTAINER.format(log=log, inside=inside))
    monkeypatch.setenv("PATH", f"{base / 'bin'}{os.pathsep}{os.environ['PATH']}")
    log.touch()
    return log


def modules(log):
    """Return the jobs that the noted Pythons ran."""
    started = (line.split() for line in log.read_text().splitlines())
    return [words[2] for words in started if words[1:2] == ["eigenbench.bench.jobs"]]


JOBS = ["download", "prepare"]


@pytest.mark.slow
def test_conda_makes_an_environment_with_the_package_for_every_job(
    programs, tmp_path, monkeypatch, make_workflow
):
    monkeypatch.setenv("EIGENBENCH_SOURCE", "/somewhere/eigenbench.whl")
    make_workflow(tmp_path / "run", "single").run("--sdm", "conda", "--until", "prepare")
    first, *_ = programs.read_text().splitlines()
    assert first == "-m pip install --quiet /somewhere/eigenbench.whl[suite]"
    assert modules(programs) == JOBS


@pytest.mark.slow
def test_apptainer_runs_every_job_in_the_image(programs, tmp_path, monkeypatch, make_workflow):
    image = tmp_path / "eigenbench.sif"
    image.touch()
    monkeypatch.setenv("EIGENBENCH_IMAGE", str(image))
    make_workflow(tmp_path / "run", "single").run("--sdm", "apptainer", "--until", "prepare")
    assert programs.read_text().splitlines().count(str(image)) == len(JOBS)
    assert modules(programs) == JOBS


def test_apptainer_without_an_image_is_one_clear_line(programs, tmp_path, monkeypatch, make_workflow):
    monkeypatch.delenv("EIGENBENCH_IMAGE", raising=False)
    workflow = make_workflow(tmp_path / "run", "single")
    with workflow.started("--sdm", "apptainer", "--dry-run") as process:
        assert process.wait(timeout=100) == 1
    assert "EIGENBENCH_IMAGE is empty: give a .sif file" in workflow.printed()
