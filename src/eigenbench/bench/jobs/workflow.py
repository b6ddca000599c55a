"""The suites of a configuration, planned, and what the rules of the Snakefile ask of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from eigenbench.atomic_files import remove_unfinished
from eigenbench.bench.code_hash import code_hash, files_hash
from eigenbench.bench.jobs.attempts import Attempts
from eigenbench.bench.jobs.job_spec import JobSpec, content_key
from eigenbench.bench.jobs.outputs import OutputStates, check_writable, hold_lock, not_from_the_future
from eigenbench.bench.jobs.plan import START_SECONDS, SuitePlan, plan_suite
from eigenbench.bench.jobs.shared_jobs import SharedJob, job_code, shared_jobs
from eigenbench.bench.records.runs import REPORT_FILES, REPORTED_FILES
from eigenbench.bench.registry import near_match
from eigenbench.bench.suites.component_checks import check_parameters
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite_file import Config, load_suite, suite_files, validate_config
from eigenbench.datasets.catalogue import load_catalogue, load_with_own, own_catalogue
from eigenbench.methods.linalg.free_memory import free_megabytes

#: The datasets that are prepared in one cluster job, and the jobs of small methods that share one, as the
#: profiles say by ``group-components``.
_PREPARED_TOGETHER = 8
RUN_TOGETHER = 4

#: Memory to prepare a dataset at least, and of a large job at its first attempt, in MB.
_PREPARE_MB, LARGE_MB = 2000, 5500


class Workflow:
    """The suites of a configuration, planned. Arguments named ``w`` are the wildcards of a job.

    ``receipt`` is the file name of receipts of imports into the MLflow store, ``snakemake`` Snakemake's
    workflow. Without ``check``, as in the nested starts of Snakemake in cluster jobs, parameters are not
    checked, which imports every method. Raises a SuiteError where configuration or a suite is not valid.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        config_path: Path,
        suites_dir: Path,
        *,
        receipt: str = "tracked.json",
        snakemake: Any = None,
        check: bool = True,
    ):
        self.config: Config = validate_config(dict(config), config_path)
        stored_by = snakemake.storage_settings if snakemake else None
        self.results, self.data = self.config.results_dir, self.config.data_dir
        self.reports, self.receipt = self.config.reports_dir, receipt
        self.stored_by = stored_by if stored_by and stored_by.default_storage_provider else None
        folders = (self.results, self.reports, self.data)
        if self.stored_by and any(Path(folder).is_absolute() for folder in folders):
            raise SuiteError(
                "with a storage provider data_dir, results_dir and reports_dir have to be relative paths"
            )
        self.catalogue = load_with_own(suites_dir)
        self.own_catalogue = own_catalogue(suites_dir)
        self.suite_paths = {path.stem: path for path in suite_files(suites_dir, self.config.suites)}
        for name in self.config.suites:
            if name not in self.suite_paths:
                hint = near_match(name, list(self.suite_paths))
                raise SuiteError(f"{config_path}: suites: no file {suites_dir}/{name}.yaml.{hint}")
        self.plans: dict[str, SuitePlan] = {}
        for name, path in self.suite_paths.items():
            suite = load_suite(path, sorted(self.catalogue.datasets))
            if check:
                check_parameters(suite, path)
            self.plans[name] = plan_suite(suite, self.catalogue)
        self._methods = {method.folder: method for plan in self.plans.values() for method in plan.methods}
        self.attempts, self._free_mb = Attempts(self.config.max_runtime, snakemake), free_megabytes()
        self.states = OutputStates(
            Path(self.results), Path(self.data), self.catalogue, stored=self.stored_by is not None
        )
        self.states.planned = {
            Path(self.results, run.record): (run.key, method.spec)
            for method in self._methods.values()
            for run in method.runs
        }

    @property
    def targets(self) -> dict[str, list[str]]:
        """The suites of each target; the first target is the default.

        Suites that repeat the experiments of a paper list their deviations from it.
        """
        others = [name for name in self.suite_paths if name != "quick"]
        several = {
            "paper": [name for name in others if self.plans[name].suite.deviations],
            "every_suite": others,
        }
        return {
            "all": list(self.config.suites),
            **{name: [name] for name in self.suite_paths},
            **{name: suites for name, suites in several.items() if suites},
        }

    def local(self, folder: str) -> str:
        """Return where jobs find a folder: a storage provider's copies lie below a folder of Snakemake's."""
        if self.stored_by is None:
            return folder
        name, bucket = self.stored_by.default_storage_provider, self.stored_by.default_storage_prefix
        return str(self.stored_by.local_storage_prefix / name / bucket.partition("://")[2] / folder)

    def begin(self, warn: Callable[[str], None]) -> list[str]:
        """Lock the results, clear away unfinished files, set damaged ones aside, and return the messages.

        Raises an OSError where files cannot be written, a RuntimeError where another workflow has the lock.
        """
        results, reports = self.local(self.results), self.local(self.reports)
        data = {"data_dir": self.local(self.data)} if self.states.make_data else {}
        check_writable({**data, "results_dir": results, "reports_dir": reports})
        warning = hold_lock(Path(results))
        for folder in (results, reports):
            remove_unfinished(Path(folder))
        not_from_the_future(Path(self.local(self.data)).glob("prepared/*.json"))
        not_from_the_future(path for path in Path(results).rglob("*") if path.is_file())
        self.attempts.report_endless_waiting(warn)
        return [*([warning] if warning else []), *self.states.set_aside()]

    def summary_command(self, python: str, suites_dir: Path, asked: Iterable[str]) -> str:
        """Return the command that prints the answer and names the report of a target when all is done."""
        report = next((name for name in asked if name in self.targets and name != "all"), "")
        folders = (self.local(self.results), "--reports-dir", str(Path(self.local(self.reports), report)))
        command = [python, "-m", "eigenbench.cli", "summary", "--results-dir", *folders]
        return f"{shlex.join([*command, '--suites-dir', str(suites_dir)])} >&2"

    # Methods and jobs

    @property
    def large(self) -> list[str]:
        """The folders of the methods whose fits are jobs of their own."""
        return [folder for folder, method in self._methods.items() if not method.shares_jobs]

    @cached_property
    def shared_jobs(self) -> list[SharedJob]:
        """The jobs that make several runs each."""
        return shared_jobs(self._methods.values(), rules=self.suite_paths)

    def spec(self, folder: str, classifier: str | None = None) -> JobSpec:
        """Return what determines the results of a method, by its folder, or of its runs of one classifier."""
        spec = self._methods[folder].spec
        return spec if classifier is None else spec.of_run(classifier)

    def threads(self, folder: str, attempt: int) -> int:
        """Return the threads of a large job; on one machine fits share cores and memory (docs/cluster.md)."""
        snakemake, method = self.attempts.snakemake, self._methods[folder]
        cores = snakemake.resource_settings.cores
        if cores and method.exclusive:
            return cores
        if method.spec.protocol or not (cores and snakemake.local_exec and snakemake.is_main_process):
            return 8
        at_once = min(self.plans[method.spec.suite].n_large, int(self._free_mb / (LARGE_MB << attempt)))
        return -(-cores // max(1, at_once))

    @cached_property
    def expected_seconds(self) -> dict[str, float]:
        """The estimated seconds of a job by its rule; the median run stands for ``train`` and ``measure``."""
        configured = [method for name in self.config.suites for method in self.plans[name].methods]
        own = [method for method in configured if not method.shares_jobs]
        large = own or [self._methods[folder] for folder in self.large]
        runs = [method.seconds / len(method.seeds) / len(method.classifiers) for method in large]
        one = START_SECONDS + (median(runs) if runs else 0.0)
        fits = dict.fromkeys(("train", "measure"), one)
        data = dict.fromkeys(("download", "prepare", "report", "track"), START_SECONDS)
        return fits | data | {job.name: START_SECONDS + job.seconds for job in self.shared_jobs}

    def message_of(self, target: str) -> str:
        """Return the message of a target, which a dry run shows: the end, and the time from nothing."""
        minutes = sum(self.plans[name].suite.minutes or 0 for name in self.targets[target])
        return f"all done (from nothing about {minutes} minutes on two cores)" if minutes else "all done"

    # Files

    def files_of(self, suites: Iterable[str]) -> list[str]:
        """Return the states of the datasets of some suites, all files of their runs, and their receipts."""
        plans = [self.plans[suite] for suite in suites]
        methods = [method for plan in plans for method in plan.methods]
        states = {f"{self.data}/prepared/{name}.json": None for m in methods for name in m.spec.datasets}
        files = [f"{self.results}/{file}" for method in methods for file in method.files]
        receipts = [f"{self.results}/{folder}/{self.receipt}" for plan in plans for folder in plan.imports]
        return [*states, *files, *receipts]

    def report_files(self, target: str) -> list[str]:
        """Return the files of the report of a target; the default one's are at the top."""
        folder = "" if target == "all" else f"{target}/"
        return [f"{self.reports}/{folder}{name}" for name in REPORT_FILES]

    def reported(self, w: Any) -> list[str]:
        """Return the suites of a report."""
        return self.targets[w.report.rstrip("/") or "all"]

    def read_by_report(self, w: Any) -> list[str]:
        """Return the files that a report reads."""
        return [file for file in self.files_of(self.reported(w)) if Path(file).name in REPORTED_FILES]

    def imported(self, w: Any) -> list[str]:
        """Return the records of an import: those of a suite, or of one of its experiments."""
        return [
            f"{self.results}/{file}"
            for method in self.plans[w.suite].methods
            if method.spec.experiment == (w.only.rstrip("/") or method.spec.experiment)
            for file in method.files
            if file.endswith("/record.json")
        ]

    def prepared(self, spec: JobSpec) -> list[str]:
        """Return the states of a job's datasets; and their files, where its machine may not have them yet."""
        suffixes = (".json", "") if self.stored_by else (".json",)
        return [f"{self.data}/prepared/{name}{suffix}" for suffix in suffixes for name in spec.datasets]

    def prepared_together(self, w: Any) -> int:
        """Return how many datasets are prepared in one cluster job; 0 for one that needs much memory."""
        return _PREPARED_TOGETHER if self.prepare_mem_mb(w.dataset) == _PREPARE_MB else 0

    # Parameters by which Snakemake sees that a job has to run again

    def data_code(self, dataset: str) -> str:
        """Return the hash of the code and of the catalogue entry that make a dataset."""
        return job_code("data") + content_key(self.catalogue.entry(dataset).model_dump(mode="json"))

    @cached_property
    def _contents(self) -> dict[str, str]:
        return {name: content_key(plan.suite.model_dump(mode="json")) for name, plan in self.plans.items()}

    def content_of(self, suites: Iterable[str]) -> str:
        """Return the hash of some suites with all that reports show of them: titles and published numbers."""
        return content_key([self._contents[name] for name in suites])

    def report_code(self) -> str:
        """Return the hash of the code and the templates that render reports."""
        code = code_hash(["eigenbench.reporting.__main__"])
        return content_key([code, files_hash("eigenbench.reporting", "templates")])

    def catalogue_of(self, dataset: str) -> list[str]:
        """Return the options of a job that name the user's own catalogue, if the dataset stands in it."""
        if self.own_catalogue and dataset in load_catalogue(self.own_catalogue).datasets:
            return ["--catalogue", str(self.own_catalogue.absolute())]
        return []

    def prepare_mem_mb(self, dataset: str) -> int:
        """Return the memory to prepare a dataset, in MB: some formats are read as dense float64, thrice."""
        expect = self.catalogue.entry(dataset).expect
        dense = 24 * sum(expect.rows.values()) * expect.features // 2**20
        return min(max(_PREPARE_MB, dense), 8000)
