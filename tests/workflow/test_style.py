"""The workflow's own files: formatted, and without a finding of Snakemake's linter that applies here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from eigenbench.bench.suites.suite_file import RULE_NAMES

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.workflow

#: What is private in Snakemake, and what a workflow has no business with.
PRIVATE = re.compile(
    r"\b(workflow|[Ss]nakemake|scheduler|dag|logger)(\.\w+)*\._[a-z]|\bworkflow\.(dag|scheduler)\b"
    r"|from snakemake\.(dag|jobs|scheduling|workflow)\b|__signature__|sys\.argv"
)


def test_snakemake_lint_has_no_finding(tmp_path, make_workflow):
    make_workflow(tmp_path).finish("--lint")


def test_snakefmt_is_clean():
    command = [sys.executable, "-m", "snakefmt", "--check", "Snakefile", "workflow"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_suite_can_have_the_name_of_a_rule():
    files = [REPOSITORY / "Snakefile", *REPOSITORY.glob("workflow/rules/*.smk")]
    rule = re.compile(r"^ *(?:rule|checkpoint|use rule \w+ as) +(\w+)", re.MULTILINE)
    found = {name for file in files for name in rule.findall(file.read_text())}
    assert found | {"all", "paper", "every_suite"} == RULE_NAMES


def test_only_what_snakemake_documents_is_used():
    assert PRIVATE.search("workflow.scheduler.job_rate_limiter = None")
    assert PRIVATE.search("self.snakemake.resource_settings._parsed_default_resources")
    files = [
        REPOSITORY / "Snakefile",
        *REPOSITORY.glob("workflow/rules/*.smk"),
        *REPOSITORY.glob("src/eigenbench/bench/jobs/*.py"),
        *REPOSITORY.glob("src/snakemake_logger_plugin_eigenbench/*.py"),
    ]
    lines = [(path.name, line.strip()) for path in files for line in path.read_text().splitlines()]
    assert [found for found in lines if PRIVATE.search(found[1])] == []
