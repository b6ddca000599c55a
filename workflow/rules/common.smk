import gc
import inspect
import os
import re
import shlex
import sys
from pathlib import Path

from eigenbench.bench.jobs.expected_time import expected_seconds, suites_of
from eigenbench.bench.jobs.guard import RunLock, check_writable
from eigenbench.bench.jobs.remnants import remove_invalid
from eigenbench.bench.suites.suite import SuiteError
from eigenbench.bench.records.runs import TRAINED_FILES
from eigenbench.bench.jobs.workflow import Workflow
from eigenbench.tracking.receipts import receipt_is_current
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.settings.types import DeploymentMethod

# The graph of a large suite is millions of objects that stay: to look through them at every 700 new ones, as Python
# does by default, takes a seventh of the time.
gc.set_threshold(100_000)

# Jobs run with this Python, unless `--sdm` gives them an environment: a module, one of conda's, or a container.
DEPLOYED = workflow.deployment_settings.deployment_method
PYTHON = "python" if DEPLOYED else shlex.quote(sys.executable)
ENVIRONMENTS = Path(workflow.basedir) / "workflow" / "envs"
MODULE = str(ENVIRONMENTS / "modules" / "eigenbench")
ENVIRONMENT = str(ENVIRONMENTS / "eigenbench.yaml")
IMAGE = os.environ.get("EIGENBENCH_IMAGE")

if DeploymentMethod.APPTAINER in DEPLOYED and not IMAGE:
    raise WorkflowError(
        "--sdm apptainer: EIGENBENCH_IMAGE names no image (a .sif file, or docker://...)"
    )


container: IMAGE


CONFIG_PATH = Path(workflow.basedir) / "config" / "config.yaml"
SUITES_DIR = Path(
    config.get("suites_dir") or Path(workflow.basedir) / "config" / "suites"
)


def named():
    """The words of the command, with its targets; none where Snakemake is called as a library.

    Snakemake itself knows the targets only after it has read the rules.
    """
    called = Path(sys.argv[0])
    is_command = "snakemake" in (called.stem, called.parent.name)
    return sys.argv[1:] if is_command else None


try:
    BENCH = Workflow(
        config, CONFIG_PATH, SUITES_DIR, check=workflow.is_main_process, targets=named()
    )
except SuiteError as error:
    raise WorkflowError(str(error))

RESULTS, REPORTS, DATA = BENCH.results, BENCH.reports, BENCH.data

STORED = workflow.storage_settings.default_storage_provider is not None
if STORED and any(Path(folder).is_absolute() for folder in (RESULTS, REPORTS, DATA)):
    raise WorkflowError(
        "with a storage provider data_dir, results_dir and reports_dir have to be relative paths"
    )


def local(folder):
    """Where jobs find a folder: what a storage provider keeps, Snakemake copies to below a folder of its own."""
    if not STORED:
        return folder
    kept = workflow.storage_settings
    bucket = kept.default_storage_prefix.partition("://")[2]
    return str(
        kept.local_storage_prefix / kept.default_storage_provider / bucket / folder
    )


# The last of these attempts records a fit that is killed as failed, so that the rest goes on.
RETRIES = 2

RUN_LOCK = RunLock(Path(".snakemake") / "eigenbench.lock")

# What is stored is not looked through: what a job writes there is whole.
if workflow.is_main_process and not STORED:
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
    suite=one_of(BENCH.suite_paths),
    only="([^/]+/)?",
    folder=one_of(BENCH.large),
    place=r"(search/point-\d+/)?",
    report=one_of([f"{name}/" for name in [*BENCH.suite_paths, "paper"]]) + "|",


# `exec` makes the job a child of Snakemake itself, so that it notices when Snakemake has ended.
def job(verb):
    return f"exec {PYTHON} -m eigenbench.bench.jobs.{verb}"


SEED = f"{RESULTS}/{{folder}}/seed-{{seed}}"
EMBEDDING = [f"{SEED}/{{place}}embedding.json", f"{SEED}/{{place}}features.skops"]
RUN = f"{SEED}/{{classifier}}"
POINT = f"{RUN}/search/point-{{point}}.json"

FIT_OPTIONS = (
    " --job {params.job:q} --code {params.code} --data-dir {params.data:q}"
    " --results-dir {params.results:q} --threads {threads}"
    " --attempts-left {resources.attempts_left} --workflow $PPID --log {log:q}"
)


def known(function):
    """Snakemake asks for the signature of a function for every job, and Python would make it anew each time."""
    function.__signature__ = inspect.signature(function)
    return function


@known
def data_dir(wildcards):
    return local(DATA)


@known
def results_dir(wildcards):
    return local(RESULTS)


def prepared(spec):
    """The states of a job's datasets; and their files, where a job's machine may not have them yet."""
    states = BENCH.prepared(spec)
    files = [state.removesuffix(".json") for state in states] if STORED else []
    return states + files


@known
def cores(wildcards):
    return BENCH.threads(wildcards.folder, workflow.cores)


@known
def fit_mem_mb(wildcards, attempt):
    return 5500 * 2 ** (attempt - 1)


@known
def small_mem_mb(wildcards, attempt):
    return 1500 * 2 ** (attempt - 1)


@known
def fit_runtime(wildcards, attempt):
    return 120 * 2 ** (attempt - 1)


@known
def small_runtime(wildcards, attempt):
    return 30 * 2 ** (attempt - 1)


# An integer, because the jobs of a group must agree on the resources that are strings.
@known
def attempts_left(wildcards, attempt):
    return max(0, 1 + RETRIES - attempt)


def target(suites):
    """The data and results of some suites, and the receipts of MLflow's import.

    What reports read is named here too: Snakemake does not make again what only up-to-date files need.
    """
    receipts = [receipt for suite in suites for receipt in BENCH.receipts(suite)]
    return BENCH.results_of(suites) + receipts


def report_files(folder):
    """What a report consists of; folder is that of a suite, with a slash, or empty."""
    names = [
        "index.html",
        "results.csv",
        "comparison.csv",
        "leaderboard.csv",
        "ranks.csv",
        "pairs.csv",
        "figures",
    ]
    return [f"{REPORTS}/{folder}{name}" for name in names]


@known
def prepared_data(wildcards):
    return prepared(BENCH.spec(wildcards.folder))


def moment_job(wildcards):
    return BENCH.moment_job(wildcards.dataset, wildcards.rows)


def shards(wildcards):
    """The shards of a pass that is shared by several jobs."""
    count = BENCH.shards(wildcards.dataset)
    return collect(
        f"{DATA}/moments/{{dataset}}/{{rows}}/shard-{{shard}}.npz",
        **wildcards,
        shard=range(count if count > 1 else 0),
    )


@known
def embedded_rows(wildcards):
    """The moments of the rows that an embedding is fitted on: all training rows, or those of the search."""
    spec = BENCH.spec(wildcards.folder)
    name = "fit" if wildcards.get("place") else "train"
    return BENCH.moments_of(spec, spec.rows(name, int(wildcards.seed)))


def embedding(wildcards, place):
    """The files of an embedding; `collect` would take longer, which counts when there are thousands of jobs."""
    return [file.format(**{**wildcards, "place": place}) for file in EMBEDDING]


@known
def searched_embedding(wildcards):
    """The embedding of a candidate, fitted on the part of the training rows that the search fits on."""
    spec = BENCH.spec(wildcards.folder)
    if not spec.steps:
        return []
    point = spec.points(wildcards.classifier)[int(wildcards.point)].embedding
    return embedding(wildcards, f"search/point-{point}/")


@known
def shared_embedding(wildcards):
    shares = BENCH.spec(wildcards.folder).shares_embedding
    return embedding(wildcards, "") if shares else []


@known
def searched_points(wildcards):
    """What the search of a run leaves for each of its candidates."""
    points = BENCH.searched_points(wildcards.folder, wildcards.classifier)
    return [POINT.format(**wildcards, point=point) for point in points]


@known
def moments_of_chosen(wildcards):
    """The moments for an embedding whose parameters are searched, and which the job itself therefore fits."""
    spec = BENCH.spec(wildcards.folder)
    return embedded_rows(wildcards) if spec.grid else []


def reported(wildcards):
    """The suites of a report: one, those of the papers, or, at the top, those that config.yaml names."""
    name = wildcards.report.rstrip("/")
    return (
        BENCH.config.suites if not name else BENCH.paper if name == "paper" else [name]
    )


def expectation():
    """What is going to run and how long it may take, for the view of the run."""
    copies = f"{local('')}/" if STORED else ""
    jobs = {
        job.jobid: [str(file).removeprefix(copies) for file in job.output]
        for job in workflow.dag.needrun_jobs()
    }
    suites = suites_of(BENCH, [file for files in jobs.values() for file in files])
    seconds = {number: expected_seconds(BENCH, files) for number, files in jobs.items()}
    return {
        "title": ", ".join(suites[:3]) + (", …" if suites[3:] else ""),
        "seconds": seconds,
    }


def small_specs(jobs, wildcards):
    """What determines the results of the methods of a job with small runs."""
    methods = jobs.methods if jobs.seeds else [wildcards.method]
    return [BENCH.spec(f"{jobs.suite}/{jobs.experiment}/{name}") for name in methods]


onstart:
    try:
        RUN_LOCK.acquire()
        check_writable(
            {
                "data_dir": local(DATA),
                "results_dir": local(RESULTS),
                "reports_dir": local(REPORTS),
            }
        )
    except (OSError, RuntimeError) as error:
        raise WorkflowError(str(error))
    logger.info(None, extra={"expected": expectation()})
    # Where the starts of jobs are limited, Snakemake 9.27 wakes up once a second more for each job that has ended
    # (snakemake#3744): after 600 jobs that takes a third of a core. Its default limit is above what it can start.
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


onsuccess:
    shell(
        "{sys.executable:q} -m eigenbench.cli summary --results-dir {results:q} --reports-dir {reports:q} --suites-dir {SUITES_DIR:q} >&2",
        results=local(RESULTS),
        reports=local(REPORTS),
    )


onerror:
    print(
        "Some jobs did not finish; what is done is kept. The logs are in logs/. "
        "Run the same command again: it goes on from here.",
        file=sys.stderr,
    )
