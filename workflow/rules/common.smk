import shlex
import sys
from pathlib import Path

from eigenbench.experiments.dag import Dag
from eigenbench.experiments.guard import RunLock, check_writable
from eigenbench.experiments.suite import SuiteError
from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

# Jobs run with this Python, unless `--sdm env-modules` loads an environment for them.
PINNED = DeploymentMethod.ENV_MODULES in workflow.deployment_settings.deployment_method
PYTHON = "python" if PINNED else shlex.quote(sys.executable)
MODULE = str(Path(workflow.basedir) / "workflow" / "envs" / "modules" / "eigenbench")

CONFIG_PATH = Path(workflow.basedir) / "config" / "config.yaml"
SUITES_DIR = Path(
    config.get("suites_dir") or Path(workflow.basedir) / "config" / "suites"
)

try:
    BENCH = Dag(config, CONFIG_PATH, SUITES_DIR, check=workflow.is_main_process)
except SuiteError as error:
    raise WorkflowError(str(error))

RESULTS = BENCH.config.results_dir
REPORTS = BENCH.config.reports_dir
DATA = BENCH.config.data_dir

# The last of these attempts records a killed task as failed, so that the rest goes on.
RETRIES = 2

# On a cluster, `--group-components method=N` puts N seeds of a method into one job.
workflow.parent_groupids.update(dict.fromkeys(BENCH.groups, "method"))


wildcard_constraints:
    unit="[0-9a-f]{12}",
    run_key="[0-9a-f]{16}",
    dataset="[A-Za-z0-9_.-]+",
    suite="[A-Za-z0-9_.-]+",
    batch="[A-Za-z0-9_.-]+",


# `exec` makes the job a child of Snakemake itself, so that it can tell when Snakemake is gone.
def job(verb):
    return f"exec {PYTHON} -m eigenbench.experiments {verb}"


def results_dir(wildcards):
    return RESULTS


def reports_dir(wildcards):
    return REPORTS


def unit_inputs(wildcards):
    return BENCH.unit_inputs(wildcards.unit)


def unit_label(wildcards):
    return BENCH.unit(wildcards.unit).label


def unit_suite(wildcards):
    return BENCH.suite_of(wildcards.unit)


def unit_code(wildcards):
    return BENCH.code(wildcards.unit)


def unit_threads(wildcards):
    return BENCH.threads(wildcards.unit, workflow.cores)


def unit_mem_mb(wildcards, attempt):
    return BENCH.mem_mb(wildcards.unit, attempt)


def unit_runtime(wildcards, attempt):
    return BENCH.runtime(wildcards.unit, attempt)


def unit_group(wildcards):
    return BENCH.unit_group(wildcards.unit)


# An integer, because the jobs of a group must agree on the resources that are strings.
def attempts_left(wildcards, attempt):
    return max(0, 1 + RETRIES - attempt)


def suite_outputs(suites):
    """The records of some suites, their receipts from MLflow, and what stands for their reports."""
    outputs = []
    for suite in suites:
        default = suite in BENCH.config.suites
        outputs.append(
            f"{REPORTS}/index.html" if default else f"{RESULTS}/reports/{suite}.done"
        )
        outputs += BENCH.records(suite) + BENCH.receipts(suite)
    return outputs


RUN_LOCK = RunLock(Path(".snakemake") / "eigenbench.lock")


onstart:
    try:
        RUN_LOCK.acquire()
        check_writable(
            {"data_dir": DATA, "results_dir": RESULTS, "reports_dir": REPORTS}
        )
    except (OSError, RuntimeError) as error:
        raise WorkflowError(str(error))


onsuccess:
    shell(
        "{sys.executable:q} -m eigenbench.cli summary --results-dir {RESULTS:q} --reports-dir {REPORTS:q} --suites-dir {SUITES_DIR:q} >&2"
    )


onerror:
    print(
        "Some jobs did not finish; what is done is kept. The logs are in logs/. "
        "Run the same command again: it goes on from here.",
        file=sys.stderr,
    )


UNIT_OPTIONS = (
    " {wildcards.unit} --suite {params.suite:q} --results-dir {params.results:q} --threads {threads}"
    " --attempts-left {resources.attempts_left} --output {output:q} --log {log:q}"
)
