import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from eigenbench.bench.protocols.available import PROTOCOLS
from eigenbench.bench.registry import COMPONENTS
from eigenbench.bench.suites.recipes import load_recipes
from eigenbench.cli import app
from eigenbench.datasets.project_files import project_folder, snakemake_command

pytestmark = pytest.mark.workflow


SUITE = (
    "title: t\nexperiments:\n"
    "  main: {dataset: digits, protocol: kernel_error, settings: {degree: 3}, methods: {identity: {}}}\n"
)


def run(*arguments: str, command=("eigenbench.cli",), **kwargs) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *command, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)


def test_lists_name_what_there_is():
    def listed(what):
        return CliRunner().invoke(app, ["list", what], env={"COLUMNS": "200"}).output.splitlines()

    lines = {what: listed(what) for what in ("methods", "protocols", "datasets", "suites")}
    assert all(any(name in line for line in lines["methods"]) for name in (*COMPONENTS, *load_recipes()))
    for name, protocol in PROTOCOLS.items():
        (line,) = (line for line in lines["protocols"] if line.startswith(f"{name} "))
        assert protocol.settings().headline in line
        assert all(setting in " ".join(lines["protocols"]) for setting in protocol.settings().model_fields)
    (mnist,) = (line for line in lines["datasets"] if line.startswith("mnist "))
    assert "70,000" in mnist
    assert "minutes on 2 cores" in lines["suites"][0]
    (quick,) = (line.split(maxsplit=2) for line in lines["suites"] if line.startswith("quick "))
    suite = project_folder() / "config" / "suites" / "quick.yaml"
    assert f"\nminutes: {quick[1]}\n" in suite.read_text(encoding="utf-8")


def test_show_tells_what_protocols_measured(tmp_path):
    (tmp_path / "kernels.yaml").write_text(SUITE)
    done = run("show", "kernels", "--suites-dir", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Main on Digits. Expected kernel MSE by size" in done.stdout
    assert "no record" in done.stdout


@pytest.mark.parametrize("command", [("eigenbench.cli", "run"), snakemake_command()[2:]])
def test_the_workflow_runs_where_the_home_folder_cannot_be_written(tmp_path, command):
    (tmp_path / "home").write_text("no folder")
    (tmp_path / "tiny.yaml").write_text(SUITE)
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    environment.pop("XDG_CACHE_HOME", None)
    settings = ["--config", f"suites_dir={tmp_path}", "suites=[tiny]"]
    done = run("--list-rules", *settings, command=command, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert "home/.cache cannot be written: Snakemake's cache is .snakemake/cache" in done.stderr
    assert "prepare" in done.stdout


def test_the_setting_of_the_suites_folder_is_checked_and_may_begin_at_home(tmp_path):
    (tmp_path / "tiny.yaml").write_text(SUITE)
    for folder, told in (("~", ""), ("2024", "suites_dir")):
        settings = [f"suites_dir={folder}", "suites=[tiny]"]
        environment = os.environ | {"HOME": str(tmp_path)}
        done = run("run", "--list-rules", "--config", *settings, cwd=tmp_path, env=environment)
        assert (done.returncode == 0) == (folder == "~"), done.stderr
        assert told in done.stderr
        assert "TypeError" not in done.stderr


@pytest.fixture
def started(monkeypatch):
    """Return a function that gives the arguments with which Snakemake would be started, or the refusal."""

    def start(*arguments):
        found = []

        def record(command):
            found.extend(command[len(snakemake_command()) :])
            return 0

        monkeypatch.setattr("eigenbench.cli.run_stoppable", record)
        result = CliRunner().invoke(app, ["run", *arguments])
        return found or str(result.exception)

    return start


def test_run_takes_suites_rules_paths_of_results_and_of_suite_files(started, tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text("title: t\n")
    assert started("quick", "-n") == ["quick", "-n"]
    assert started("paper", "results/quick", "--cores", "2") == ["paper", "results/quick", "--cores", "2"]
    assert started("-n", "--config", "a=b") == ["-n", "--config", "a=b"]
    settings = [f'suites_dir="{tmp_path}"', "suites=[tiny]"]
    assert started(str(path), "-n") == ["tiny", "-n", "--config", *settings]
    for given in (["--config", "a=b"], ["-C", "a=b"], ["-Ca=b"], ["-C=a=b"], ["--config=a=b"]):
        assert started(str(path), *given, "-n") == ["tiny", "--config", *settings, "a=b", "-n"]
    setting = f"suites_dir={tmp_path}"
    assert started("tiny", "--config", setting) == ["tiny", "--config", "suites=[tiny]", setting]
    same = ["--config", f"{setting}/"]
    assert started(str(path), *same) == ["tiny", "--config", "suites=[tiny]", f"{setting}/"]
    assert started("anything", "--configfile", "mine.yaml") == ["anything", "--configfile", "mine.yaml"]


def test_run_refuses_what_is_no_target(started, tmp_path):
    assert "no suite 'qick'. Did you mean 'quick'? There are:" in started("qick")
    assert "tiny.yaml: there is no such file" in started("tiny.yaml")
    (tmp_path / "tiny.yml").touch()
    assert "tiny.yml: name it .yaml" in started(str(tmp_path / "tiny.yml"))
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tiny.yaml").touch()
    assert "suites of one folder" in started(*(str(tmp_path / name / "tiny.yaml") for name in "ab"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "qick"], "Did you mean 'quick'?"),
        (["fetch", "mnits", "--data-dir", "."], "no dataset 'mnits'. Did you mean 'mnist'?"),
        (["ui"], "snakemake"),
    ],
)
def test_what_is_not_there_is_one_clear_line(tmp_path, arguments, told):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_fetch_downloads_checks_and_prepares(tmp_path):
    for _ in range(2):
        done = run("fetch", "digits", "--data-dir", str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert "1,347 + 450 rows, 64 features, 10 classes" in done.stdout
