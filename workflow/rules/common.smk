import re
import shlex
import sys
from pathlib import Path

from eigenbench.experiments.guard import RunLock, check_writable
from eigenbench.experiments.remnants import remove_invalid
from eigenbench.experiments.suite import SuiteError
from eigenbench.experiments.runs import TRAINED_FILES
from eigenbench.experiments.workflow import Workflow
from eigenbench.tracking.receipts import receipt_is_current
from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

# Jobs run with this Python, unless `--sdm env-modules` loads an environment for them.
MODULES = DeploymentMethod.ENV_MODULES in workflow.deployment_settings.deployment_method
PYTHON = "python" if MODULES else shlex.quote(sys.executable)
MODULE = str(Path(workflow.basedir) / "workflow" / "envs" / "modules" / "eigenbench")

CONFIG_PATH = Path(workflow.basedir) / "config" / "config.yaml"
SUITES_DIR = Path(
    config.get("suites_dir") or Path(workflow.basedir) / "config" / "suites"
)

try:
    BENCH = Workflow(config, CONFIG_PATH, SUITES_DIR, check=workflow.is_main_process)
except SuiteError as error:
    raise WorkflowError(str(error))

RESULTS, REPORTS, DATA = BENCH.results, BENCH.reports, BENCH.data
PAPER = [suite for suite in BENCH.suites if suite != "quick"]

# The last of these attempts records a fit that is killed as failed, so that the rest goes on.
RETRIES = 2

RUN_LOCK = RunLock(Path(".snakemake") / "eigenbench.lock")

if workflow.is_main_process:
    try:
        for line in remove_invalid(BENCH, RUN_LOCK, receipt_is_current):
            print(line, file=sys.stderr)
    except RuntimeError as error:
        raise WorkflowError(str(error))


def one_of(names):
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    dataset="[^/]+",
    rows="[^/]+",
    shard=r"\d+",
    method="[^/]+",
    seed=r"\d+",
    classifier="[^/]+",
    point=r"\d+",
    suite=one_of(BENCH.suites),
    experiment="[^/]+",
    folder=one_of(BENCH.large),
    place=r"(/search/point-\d+)?",
    report=one_of([f"{name}/" for name in [*BENCH.suites, "paper"]]) + "|",


# `exec` makes the job a child of Snakemake itself, so that it notices when Snakemake has ended.
def job(verb):
    return f"exec {PYTHON} -m eigenbench.experiments.{verb}"


FIT_OPTIONS = (
    " --job {params.job:q} --code {params.code} --data-dir {params.data:q}"
    " --results-dir {params.results:q} --threads {threads}"
    " --attempts-left {resources.attempts_left} --log {log:q}"
)


def data_dir(wildcards):
    return DATA


def results_dir(wildcards):
    return RESULTS


def reports_dir(wildcards):
    return REPORTS


def cores(wildcards):
    return BENCH.threads(wildcards.folder, workflow.cores)


def fit_mem_mb(wildcards, attempt):
    return 5500 * 2 ** (attempt - 1)


def small_mem_mb(wildcards, attempt):
    return 1500 * 2 ** (attempt - 1)


def fit_runtime(wildcards, attempt):
    return 120 * 2 ** (attempt - 1)


def small_runtime(wildcards, attempt):
    return 30 * 2 ** (attempt - 1)


# An integer, because the jobs of a group must agree on the resources that are strings.
def attempts_left(wildcards, attempt):
    return max(0, 1 + RETRIES - attempt)


def target(suites):
    """The files of all runs of some suites, and the receipts of their import into MLflow."""
    return BENCH.results_of(suites) + [
        receipt for suite in suites for receipt in BENCH.receipts(suite)
    ]


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
