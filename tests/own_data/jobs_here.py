"""The jobs of a comparison, run in this process without Snakemake."""

import json
from argparse import Namespace

from eigenbench.atomic_files import write_json
from eigenbench.bench.jobs.job_context import JobContext
from eigenbench.bench.jobs.supervision import Supervisor
from eigenbench.bench.jobs.train import run
from eigenbench.datasets import prepare
from eigenbench.datasets.catalogue import load_with_own


class Here(Supervisor):
    """Runs a fit in this process, which is cheaper, and without a limit."""

    gemm_gflops = None

    def run(self, stage, fit):
        try:
            return {"status": "ok", "peak_rss_mb": 1.0} | json.loads(json.dumps(fit(), allow_nan=False))
        except Exception as error:
            return {"peak_rss_mb": 1.0} | self._failed(stage, type(error).__name__, str(error))


def fit_all(workspace, watch, name, folds=None):
    """Do what the jobs of the workflow do with the dataset ``name``, on all folds or some."""
    data, log = workspace.folder / "data", workspace.folder / "job.log"
    card = prepare(name, data_dir=data, catalogue=load_with_own(workspace.suites), progress=False)
    state = {"dataset": name, "status": "ok", "failure": None, "card": card.model_dump(mode="json")}
    write_json(data / "prepared" / f"{name}.json", state)
    options = Namespace(data_dir=data, results_dir=workspace.results, log=log, code="", replaces={})
    for method in watch.plan.methods:
        context = JobContext(method.spec, options, Here(1, log, last_attempt=True))
        for seed in method.seeds if folds is None else folds:
            run(context, seed)
