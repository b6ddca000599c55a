import os
import re
import shlex
import sys
from pathlib import Path

from eigenbench.bench.jobs.attempts import RETRIES, attempts_left
from eigenbench.bench.jobs.shared_jobs import job_code
from eigenbench.bench.jobs.workflow import LARGE_MB, RUN_TOGETHER, Workflow
from eigenbench.bench.records.runs import REPORT_TABLES, TRAINED_FILES
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite_file import validate_config
from eigenbench.datasets.errors import DatasetError
from eigenbench.tracking.store import receipt_is_current, receipt_name
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

BASE = Path(workflow.basedir)
# Jobs run with this Python, unless `--sdm` gives them an environment: a module, conda's or a container's.
# `exec` makes the job a child of Snakemake itself, so that it notices when Snakemake has ended.
DEPLOYED = workflow.deployment_settings.deployment_method
JOB = f"exec {'python' if DEPLOYED else shlex.quote(sys.executable)} -m eigenbench"
MODULE = str(BASE / "workflow/envs/modules/eigenbench")
ENVIRONMENT = str(BASE / "workflow/envs/eigenbench.yaml")
IMAGE = os.environ.get("EIGENBENCH_IMAGE")
if not IMAGE and "apptainer" in map(str, DEPLOYED):
    raise WorkflowError("EIGENBENCH_IMAGE is empty: give a .sif file or docker://...")


container: IMAGE


CONFIG_FILE = BASE / "config" / "config.yaml"
try:
    own_suites = validate_config(dict(config), CONFIG_FILE).suites_dir
    SUITES = Path(own_suites or BASE / "config" / "suites")
    BENCH = Workflow(
        config,
        CONFIG_FILE,
        SUITES,
        receipt=receipt_name(),
        snakemake=workflow,
        check=workflow.is_main_process,
    )
except (SuiteError, DatasetError) as error:
    raise WorkflowError(str(error))
RESULTS, REPORTS, DATA = BENCH.results, BENCH.reports, BENCH.data
ATTEMPTS = BENCH.attempts


wildcard_constraints:
    dataset="[^/]+",
    seed=r"\d+",
    classifier="[^/]+",
    suite="|".join(map(re.escape, BENCH.suite_paths)) or "(?!)",
    only="([^/]+/)?",
    folder="|".join(map(re.escape, BENCH.large)) or "(?!)",
    report="".join(re.escape(f"{target}/") + "|" for target in BENCH.targets),


onstart:
    try:
        for line in BENCH.begin(logger.warning):
            print(line, file=sys.stderr)
    except (OSError, RuntimeError) as error:
        raise WorkflowError(str(error))
    logger.info(None, extra={"expected": BENCH.expected_seconds})


onsuccess:
    shell(BENCH.summary_command(sys.executable, SUITES, workflow.dag_settings.targets))


onerror:
    print(
        "Some jobs did not finish; finished work is kept. The logs are in logs/. "
        "Run the same command again to continue.",
        file=sys.stderr,
    )
