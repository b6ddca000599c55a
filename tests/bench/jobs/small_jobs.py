"""Plans and jobs of one experiment, run in this process without Snakemake."""

import hashlib
import shutil
from argparse import Namespace

import numpy as np
from scipy.sparse import issparse

from eigenbench.atomic_files import write_json
from eigenbench.bench.jobs import measure, train
from eigenbench.bench.jobs.job_context import JobContext
from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.jobs.supervision import Supervisor
from eigenbench.bench.records.record import read_record
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.bench.suites.suite import Suite
from eigenbench.datasets import load_catalogue
from eigenbench.datasets.card import ArrayRecord, Card, write_card
from eigenbench.datasets.splits import OfficialSplit, RandomSplit

EXPERIMENT = {
    "dataset": "digits",
    "methods": {"random": {"steps": [{"RandomDirections": {"n_components": 8}}]}},
    "classifiers": ["CalibratedLeastSquares"],
}


def suite_of(**changes):
    """A suite of one experiment, ``main``."""
    return Suite.model_validate({"name": "s", "title": "t", "experiments": {"main": EXPERIMENT | changes}})


def methods_of(suite):
    """The methods of a suite by name."""
    return {method.spec.method: method for method in plan_suite(suite, load_catalogue()).methods}


def plan_of(**changes):
    """The only method of an experiment."""
    (method,) = methods_of(suite_of(**changes)).values()
    return method


def write_prepared(data, name, blocks):
    """Write arrays as `eigenbench.datasets.prepare` does, with their card and the state of the dataset."""
    folder = data / "prepared" / name
    folder.mkdir(parents=True)
    arrays = {}
    for block, matrix in blocks.items():
        pieces = {block: matrix}
        if issparse(matrix):
            pieces = {f"{block}_{piece}": getattr(matrix, piece) for piece in ("data", "indices", "indptr")}
        for piece, array in pieces.items():
            path = folder / f"{piece}.npy"
            np.save(path, array)
            content = path.read_bytes()
            arrays[path.name] = ArrayRecord(
                sha256=hashlib.sha256(content).hexdigest(),
                bytes=len(content),
                shape=array.shape,
                dtype=str(array.dtype),
            )
    first = next(iter(blocks.values()))
    y = blocks["y_all" if "y_all" in blocks else "y_train"]
    n_classes = y.shape[1] if issparse(y) else int(y.max()) + 1
    card = Card(
        name=name,
        title=name,
        licence="none",
        citation="none",
        homepage="http://localhost/",
        target="multilabel" if issparse(y) else "multiclass",
        n_train=y.shape[0] if "y_train" in blocks else y.shape[0] - y.shape[0] // 3,
        n_test=blocks["y_test"].shape[0] if "y_test" in blocks else y.shape[0] // 3,
        n_features=first.shape[1],
        n_classes=n_classes,
        classes=tuple(f"class {code}" for code in range(n_classes)),
        dtype="float32",
        scale=None,
        sparse=False,
        split=RandomSplit(kind="random", test_fraction=1 / 3) if "y_all" in blocks else OfficialSplit(),
        sources=(),
        arrays=arrays,
        recipe="0" * 64,
    )
    write_card(folder, card)
    state = {"dataset": name, "status": "ok", "failure": None, "card": card.model_dump(mode="json")}
    write_json(data / "prepared" / f"{name}.json", state)


class Jobs:
    """Runs jobs on the prepared data of ``data``; results go into ``root``."""

    def __init__(self, data, root):
        self.data, self.root = data, root
        self.results = root / "results"

    def own_data(self):
        """Work on a copy of the data from now on, which the test may damage; return its folder."""
        self.data = shutil.copytree(self.data, self.root / "data")
        return self.data

    def context(self, spec, last_attempt=True, **options):
        """The context of a job with this specification."""
        log = self.root / "job.log"
        options = Namespace(
            data_dir=self.data, results_dir=self.results, log=log, code="0" * 16, **{"replaces": {}} | options
        )
        supervisor = Supervisor(1, log, last_attempt, spec.time_limit)
        vars(supervisor)["gemm_gflops"] = 50.0  # or each job spends half a second on measuring it
        return JobContext(spec, options, supervisor)

    def run(self, method, seed=0, last_attempt=True, **options):
        """Make all runs of a method and seed in one job; return their records by classifier."""
        context = self.context(method.spec, last_attempt, **options)
        (train if method.spec.protocol is None else measure).run(context, seed)
        return {name: self.record(method, name, seed) for name in method.classifiers}

    def record(self, method, classifier=NO_CLASSIFIER, seed=0):
        """Read the record of a run."""
        return read_record(self.folder(method, classifier, seed) / "record.json")

    def folder(self, method, classifier=NO_CLASSIFIER, seed=0):
        """The folder of a run."""
        return self.context(method.spec).folder(seed, classifier)
