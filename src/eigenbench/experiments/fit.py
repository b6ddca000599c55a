"""Make all small runs of a method with some seeds in one job: embed, search, train and test."""

from __future__ import annotations

import shutil
import sys

from eigenbench.experiments.embed import search_folder, write_embedding
from eigenbench.experiments.job_context import JobContext, run_job
from eigenbench.experiments.search import supervised_search
from eigenbench.experiments.train import train


def _work(context: JobContext) -> None:
    for seed in context.options.seeds:
        try:
            _fit_seed(context, seed)
        finally:
            shutil.rmtree(search_folder(context, seed), ignore_errors=True)


def _fit_seed(context: JobContext, seed: int) -> None:
    spec = context.spec
    searched = [name for name in spec.classifiers if spec.searches(name)]
    usable = context.obstacle() is None
    if spec.shares_embedding:
        usable = write_embedding(context, seed)["status"] == "ok"
    if spec.steps and searched:
        for point in range(len(spec.embedding_points())):
            write_embedding(context, seed, point)
    for classifier in spec.classifiers:
        reports = None
        if classifier in searched and usable:
            reports = [supervised_search(context, classifier, seed, spec.points(classifier))]
        train(context, classifier, seed, reports)


if __name__ == "__main__":
    sys.exit(run_job(_work, __doc__, seeds={"type": int, "nargs": "+", "required": True}))
