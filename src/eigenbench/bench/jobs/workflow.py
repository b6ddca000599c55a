"""What the Snakefile asks: the files of jobs, what a job is told, how large it is, and what code it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from eigenbench.bench.capabilities import takes_moments
from eigenbench.bench.code_hash import code_hash, files_hash, own_code_hash
from eigenbench.bench.components import MissingExtraError
from eigenbench.bench.jobs.cost import shards_of
from eigenbench.bench.jobs.job_spec import JobSpec, content_key
from eigenbench.bench.jobs.plan import MethodPlan, SuitePlan, plan_suite
from eigenbench.bench.jobs.rows import Rows
from eigenbench.bench.jobs.shared_jobs import SharedJobs, in_rule, shared_jobs
from eigenbench.bench.records.runs import RECEIPT_FILE, REPORTED_FILES
from eigenbench.bench.registry import near_match
from eigenbench.bench.suites.component_checks import check_parameters
from eigenbench.bench.suites.suite import Config, SuiteError
from eigenbench.bench.suites.suite_file import load_suite, suite_files, validate_config
from eigenbench.datasets.catalogue import load_catalogue, load_with_own, own_catalogue

#: Threads that a job on a large dataset takes at most; beyond, memory bandwidth limits.
_MAX_THREADS = 8

#: Memory to prepare a dataset at least, in MB.
_PREPARE_MB = 2000


def most_threads(cores: int | None) -> int:
    """Return the threads of a job on a large dataset."""
    return min(_MAX_THREADS, cores or _MAX_THREADS)


class Workflow:
    """The suites of a configuration, planned.

    Parameters
    ----------
    config : mapping
        The merged Snakemake configuration.
    config_path : Path
        Its file, for messages.
    suites_dir : Path
        The folder of suite files.
    check : bool
        Whether to read the suites that are not asked for too, and to check parameter names, which imports
        every method that the others name. The nested starts of Snakemake in cluster jobs leave that to the
        process that submitted them.
    targets : iterable of str, optional
        What the command names: targets, and rules and files of its options. Left out, every suite is asked
        for.

    Attributes
    ----------
    asked : list of str
        The suites that the command can need: those of the configuration, and those whose name stands in
        `targets`, as it does in the paths of their results and in the names of their rules.
    suites : dict of SuitePlan
        These suites by their names.

    Raises
    ------
    SuiteError
        If the configuration or a suite is not valid; the message names file, key and remedy.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        config_path: Path,
        suites_dir: Path,
        check: bool = True,
        targets: Iterable[str] | None = None,
    ):
        self.config: Config = validate_config(dict(config), config_path)
        self.results, self.data = self.config.results_dir, self.config.data_dir
        self.reports = self.config.reports_dir
        self.catalogue = load_with_own(suites_dir)
        self.own_catalogue = own_catalogue(suites_dir)
        self.suite_paths = {path.stem: path for path in suite_files(suites_dir)}
        if taken := {"all", "paper"} & set(self.suite_paths):
            name = taken.pop()
            raise SuiteError(
                f"{self.suite_paths[name]}: {name!r} is a target of the workflow: rename the file"
            )
        for name in self.config.suites:
            if name not in self.suite_paths:
                hint = near_match(name, list(self.suite_paths))
                raise SuiteError(f"{config_path}: suites: no file {suites_dir}/{name}.yaml.{hint}")
        self.asked = self._asked(targets)
        self.suites: dict[str, SuitePlan] = {}
        for name, path in self.suite_paths.items():
            if name in self.asked or check:
                suite = load_suite(path, sorted(self.catalogue.datasets))
            if name in self.asked:
                if check:
                    check_parameters(suite, path)
                self.suites[name] = plan_suite(suite, self.catalogue)
        self._every_suite = partial(Workflow, config, config_path, suites_dir, check=False)
        self._methods = {method.folder: method for plan in self.suites.values() for method in plan.methods}
        self._parts: dict[tuple[str, str | None], JobSpec] = {}

    @property
    def paper(self) -> list[str]:
        """The suites of published tables."""
        return [name for name in self.suite_paths if name != "quick"]

    def _asked(self, targets: Iterable[str] | None) -> list[str]:
        if targets is None:
            return list(self.suite_paths)
        named = in_rule(" ".join(targets))
        paper = self.paper if "paper" in named else []
        return [
            name
            for name in self.suite_paths
            if name in self.config.suites or name in paper or in_rule(name) in named
        ]

    def method(self, folder: str) -> MethodPlan:
        """Return a method by its folder, ``suite/experiment/method``."""
        return self._methods[folder]

    def spec(self, folder: str) -> JobSpec:
        """Return what determines the results of a method, by its folder."""
        return self._methods[folder].spec

    def part(self, folder: str, classifier: str | None = None) -> JobSpec:
        """Return what determines the runs of one classifier of a method, or its embedding; made once."""
        if (folder, classifier) not in self._parts:
            spec = self.spec(folder)
            self._parts[folder, classifier] = spec.of_run(classifier) if classifier else spec.of_embedding()
        return self._parts[folder, classifier]

    @property
    def large(self) -> list[str]:
        """The folders of the methods whose fits are jobs of their own."""
        return [folder for folder, method in self._methods.items() if not self._shares(method)]

    @cached_property
    def shared_jobs(self) -> list[SharedJobs]:
        """The rules for runs that share jobs."""
        methods = [method for method in self._methods.values() if self._shares(method)]
        return shared_jobs(methods, self.results, in_turn=self.config.seeds_in_turn)

    def _shares(self, method: MethodPlan) -> bool:
        return method.share != "fit" or (self.config.seeds_in_turn and not method.exclusive)

    def results_of(self, suites: Iterable[str]) -> list[str]:
        """Return all files that the runs of some suites leave, and the states of their datasets."""
        suites = list(suites)
        specs = [method.spec for suite in suites for method in self.suites[suite].methods]
        states = dict.fromkeys(state for spec in specs for state in self.prepared(spec))
        return [*states] + [
            f"{self.results}/{method.folder}/{file}"
            for suite in suites
            for method in self.suites[suite].methods
            for seed in method.seeds
            for file in (*method.embeddings(seed), *method.results(seed))
        ]

    def records(self, suite: str, experiment: str | None = None) -> list[str]:
        """Return the record files of a suite, or of one of its experiments."""
        return [
            f"{self.results}/{method.folder}/{file}"
            for method in self.suites[suite].methods
            if experiment in (None, method.spec.experiment)
            for seed in method.seeds
            for file in method.results(seed)
            if file.endswith("record.json")
        ]

    def read_by_reports(self, suite: str) -> list[str]:
        """Return the files of a suite that reports read."""
        return [file for file in self.results_of([suite]) if Path(file).name in REPORTED_FILES]

    def receipts(self, suite: str) -> list[str]:
        """Return what the imports of a suite into MLflow write."""
        return [f"{self.results}/{folder}/{RECEIPT_FILE}" for folder in self.suites[suite].imports]

    def prepared(self, spec: JobSpec) -> list[str]:
        """Return the states of the datasets that a job reads."""
        return [f"{self.data}/prepared/{name}.json" for name in spec.datasets]

    def uses_moments(self, spec: JobSpec) -> bool:
        """Return whether the first step is fitted on class moments alone."""
        try:
            return bool(spec.steps) and takes_moments(spec.load(spec.steps[0].component))
        except MissingExtraError:
            return False

    def moments_of(self, spec: JobSpec, rows: Rows) -> list[str]:
        """Return the file of the moments that an embedding on some rows is fitted on, if it is."""
        return [f"{self.data}/moments/{spec.dataset}/{rows.label}.npz"] if self.uses_moments(spec) else []

    @cached_property
    def _moment_rows(self) -> dict[tuple[str, str], tuple[JobSpec, Rows]]:
        found = {}
        for folder in self.large:
            method = self.method(folder)
            spec = method.spec
            if spec.protocol is None:
                for seed in method.seeds:
                    for name in ("train", "fit"):
                        rows = spec.rows(name, seed)
                        found[spec.dataset, rows.label] = (spec, rows)
        return found

    def moment_job(self, dataset: str, label: str) -> tuple[JobSpec, Rows]:
        """Return what the job of a moment pass is told.

        Neither its path nor its rule says which suite it is of.
        """
        if (dataset, label) not in self._moment_rows and len(self.asked) < len(self.suite_paths):
            return self._every_suite().moment_job(dataset, label)
        spec, rows = self._moment_rows[dataset, label]
        return JobSpec(dataset=dataset, split_drawn=spec.split_drawn), rows

    def shards(self, dataset: str) -> int:
        """Return the number of jobs that share a moment pass."""
        return shards_of(self.catalogue.entry(dataset))

    def searched_points(self, folder: str, classifier: str) -> range:
        """Return the places of the candidates of a run's search."""
        spec = self.spec(folder)
        return range(len(spec.points(classifier)) if spec.searches(classifier) else 0)

    def code(self, verb: str, *specs: JobSpec) -> str:
        """Return the hash of the code that a job runs: its module, its components and its protocol."""
        modules = [f"eigenbench.bench.jobs.{verb}"]
        own: set[tuple[str, str]] = set()
        for spec in specs:
            modules += [component.module for component in spec.components.values()]
            modules += [spec.protocol] if spec.protocol else []
            own |= {(item.module, item.folder or "") for item in spec.components.values() if item.own}
            if spec.protocol and not spec.protocol.startswith("eigenbench."):
                own.add((spec.protocol, spec.protocol_folder or ""))
        found = code_hash(modules)
        return content_key([found, *(own_code_hash(*place) for place in sorted(own))]) if own else found

    def catalogue_of(self, dataset: str) -> list[str]:
        """Return the options of a job that tell of the user's own catalogue, if the dataset stands in it."""
        if self.own_catalogue and dataset in load_catalogue(self.own_catalogue).datasets:
            return ["--catalogue", str(self.own_catalogue.absolute())]
        return []

    def data_code(self, verb: str, dataset: str) -> str:
        """Return the hash of the code and of the catalogue entry that make a dataset."""
        return self.code(verb) + content_key(self.catalogue.entry(dataset).model_dump(mode="json"))

    def threads(self, folder: str, cores: int | None) -> int:
        """Return the threads of a job: many small fits use one, measurements of time the machine."""
        method = self.method(folder)
        if method.share != "fit":
            return 1
        return cores if cores and method.exclusive else most_threads(cores)

    def prepare_mem_mb(self, dataset: str, attempt: int) -> int:
        """Return the memory to prepare a dataset, in MB: some formats are read as dense float64, thrice."""
        expect = self.catalogue.entry(dataset).expect
        dense = 24 * sum(expect.rows.values()) * expect.features // 2**20
        return min(max(_PREPARE_MB, dense), 8000) * 2 ** (attempt - 1)

    def is_small(self, dataset: str) -> bool:
        """Return whether a dataset is prepared in less time than a cluster takes to start a job."""
        return self.prepare_mem_mb(dataset, 1) == _PREPARE_MB

    def content_of(self, suites: Iterable[str]) -> str:
        """Return the hash of some suites with all that reports show of them: titles and published numbers."""
        return content_key([self.suites[name].suite.model_dump(mode="json") for name in suites])

    def report_code(self) -> str:
        """Return the hash of the code and the templates that render reports."""
        return content_key(
            [code_hash(["eigenbench.reporting.__main__"]), files_hash("eigenbench.reporting", "templates")]
        )
