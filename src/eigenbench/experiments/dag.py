"""What the Snakefile asks: which files a job reads and writes, how large it is, and what code it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from eigenbench.datasets.catalogue import load_catalogue
from eigenbench.experiments.code_hash import modules_hash, unit_code_hash
from eigenbench.experiments.plan import Plan, plan_suite
from eigenbench.experiments.suite import Config, SuiteError
from eigenbench.experiments.suite_file import check_parameters, load_suite, validate_config
from eigenbench.experiments.tasks import Unit, content_key
from eigenbench.protocols.available import PROTOCOLS
from eigenbench.registry import near_match

#: Threads that a job on a large dataset takes at most; beyond, memory bandwidth limits.
MAX_THREADS = 8

#: A job on datasets of at most so many values (rows × features) is short; it shares cluster jobs with others.
SMALL_VALUES = 10**8

# A moment pass serves many methods and a measurement of time wants the machine: these are jobs of their own.
_GROUPED = ("embed", "train", "evaluate", "select")


class Dag:
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
        Whether to check parameter names, which imports every method. The nested starts of Snakemake in
        cluster jobs leave that to the process that submitted them.

    Raises
    ------
    SuiteError
        If the configuration or a suite is not valid; the message names file, key and remedy.
    """

    def __init__(self, config: Mapping[str, Any], config_path: Path, suites_dir: Path, check: bool = True):
        self.config: Config = validate_config(dict(config), config_path)
        self.suites_dir = suites_dir
        self.catalogue = load_catalogue()
        paths = sorted(suites_dir.glob("*.yaml"))
        self.suite_paths = {path.stem: path for path in paths}
        self._check_default_suites(config_path)
        self.plans: dict[str, Plan] = {}
        for path in paths:
            suite = load_suite(path, sorted(self.catalogue.datasets))
            if check:
                check_parameters(suite, path)
            self.plans[suite.name] = plan_suite(suite, self.catalogue)

    def _check_default_suites(self, config_path: Path) -> None:
        known = list(self.suite_paths)
        for name in self.config.suites:
            if name not in known:
                raise SuiteError(
                    f"{config_path}: suites: no file {self.suites_dir}/{name}.yaml.{near_match(name, known)}"
                )

    @cached_property
    def _units(self) -> dict[str, tuple[str, Unit]]:
        units: dict[str, tuple[str, Unit]] = {}
        for name, plan in self.plans.items():
            for unit in plan.units.values():
                units.setdefault(unit.id, (name, unit))
        return units

    def unit(self, unit_id: str) -> Unit:
        """Return a unit by its id."""
        return self._units[unit_id][1]

    def suite_of(self, unit_id: str) -> Path:
        """Return the file of a suite that has the unit."""
        return self.suite_paths[self._units[unit_id][0]]

    @cached_property
    def _unit_groups(self) -> dict[str, str]:
        """The group of each unit that is short: that of the first runs that need it.

        Runs stand in the order of their methods, so a group only ever waits for groups before it.
        """
        groups: dict[str, str] = {}
        for plan in self.plans.values():
            for cell in plan.cells:
                for unit in plan.behind(cell):
                    if unit.stage in _GROUPED and self._is_small(unit):
                        groups.setdefault(unit.id, plan.group_of[cell.run_key])
        return groups

    def _is_small(self, unit: Unit) -> bool:
        expected = [self.catalogue.entry(dataset).expect for dataset in unit.datasets]
        return all(sum(expect.rows.values()) * expect.features <= SMALL_VALUES for expect in expected)

    @property
    def groups(self) -> list[str]:
        """The names of all groups."""
        return sorted({group for plan in self.plans.values() for group in plan.group_of.values()})

    def unit_group(self, unit_id: str) -> str | None:
        """Return the group of cluster jobs that a unit is run with, None for one that is long."""
        return self._unit_groups.get(unit_id)

    def record_group(self, suite: str, run_key: str) -> str:
        """Return the group of cluster jobs that a record is written with: that of what it waits for."""
        plan = self.plans[suite]
        final = plan.unit_of[plan.cell(run_key).final.key]
        return self._unit_groups.get(final.id, plan.group_of[run_key])

    def unit_inputs(self, unit_id: str) -> list[str]:
        """Return the manifests a unit's job reads, and its prepared dataset."""
        name, unit = self._units[unit_id]
        return [
            *(self.prepared(dataset) for dataset in unit.datasets),
            *(self.manifest(other) for other in self.plans[name].upstream(unit)),
        ]

    def manifest(self, unit: Unit) -> str:
        """Return the output of a unit's job."""
        return f"{self.config.results_dir}/{unit.stage}/{unit.id}.json"

    def prepared(self, dataset: str) -> str:
        """Return the output of a dataset's prepare job."""
        return f"{self.config.results_dir}/datasets/{dataset}.prepared.json"

    def record_inputs(self, suite: str, run_key: str) -> list[str]:
        """Return the manifest that finishes a run."""
        plan = self.plans[suite]
        return [self.manifest(plan.unit_of[plan.cell(run_key).final.key])]

    def record_label(self, suite: str, run_key: str) -> str:
        """Return a run's name for people."""
        return self.plans[suite].cell(run_key).label

    def records(self, suite: str) -> list[str]:
        """Return the record files of a suite."""
        return [self._record(suite, cell.run_key) for cell in self.plans[suite].cells]

    def batch_records(self, suite: str, batch: str) -> list[str]:
        """Return the record files of one import into MLflow."""
        return [self._record(suite, cell.run_key) for cell in self.plans[suite].batches()[batch]]

    def receipts(self, suite: str) -> list[str]:
        """Return what the imports of a suite write."""
        return [
            f"{self.config.results_dir}/tracked/{suite}/{batch}.json" for batch in self.plans[suite].batches()
        ]

    def _record(self, suite: str, run_key: str) -> str:
        return f"{self.config.results_dir}/records/{suite}/{run_key}.json"

    def threads(self, unit_id: str, cores: int | None) -> int:
        """Return the threads of a unit's job: many small fits use one, measurements of time the machine."""
        unit = self.unit(unit_id)
        if unit.packed:
            return 1
        protocols = [PROTOCOLS[name] for task in unit.tasks if (name := task.spec.get("protocol"))]
        if cores and any(protocol.exclusive for protocol in protocols):
            return cores
        return min(MAX_THREADS, cores or MAX_THREADS)

    def mem_mb(self, unit_id: str, attempt: int) -> int:
        """Return the memory a unit's job asks for, in MB; it doubles with each attempt."""
        unit = self.unit(unit_id)
        base = 1500 if unit.packed or unit.stage == "select" else 5500
        return base * 2 ** (attempt - 1)

    def runtime(self, unit_id: str, attempt: int) -> int:
        """Return the minutes a unit's job asks for; they double with each attempt."""
        unit = self.unit(unit_id)
        base = 5 if unit.stage == "select" else 30 if unit.packed else 120
        return base * 2 ** (attempt - 1)

    def code(self, unit_id: str) -> str:
        """Return the hash of the code behind a unit's results."""
        return unit_code_hash(self.unit(unit_id))

    def data_code(self, dataset: str) -> str:
        """Return the hash of the code and the catalogue entry behind a prepared dataset."""
        entry = self.catalogue.entry(dataset).model_dump(mode="json")
        return modules_hash(["eigenbench.datasets"]) + content_key(entry)

    def record_code(self) -> str:
        """Return the hash of the code that writes records."""
        return modules_hash(["eigenbench.experiments.assemble"])

    def report_code(self) -> str:
        """Return the hash of the code that renders reports."""
        return modules_hash(["eigenbench.reporting.site", "eigenbench.reporting.__main__"])

    def prepare_mem_mb(self, dataset: str, attempt: int) -> int:
        """Return the memory to prepare a dataset, in MB: some formats are read as dense float64, thrice."""
        expect = self.catalogue.entry(dataset).expect
        dense = 24 * sum(expect.rows.values()) * expect.features // 2**20
        return min(max(2000, dense), 8000) * 2 ** (attempt - 1)

    def retry_token(self, dataset: str) -> str:
        """Return a value that changes when a dataset could not be had, so that the next run tries again."""
        path = Path(self.config.results_dir) / "datasets" / f"{dataset}.download.json"
        try:
            outcome = json.loads(path.read_bytes())
        except (OSError, ValueError):
            return "first"
        return outcome["retry"] if outcome["status"] == "ok" else f"after {path.stat().st_mtime_ns}"
