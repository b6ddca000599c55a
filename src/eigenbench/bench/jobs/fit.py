"""Make all small runs of some methods and seeds in one job: embed, search, train and test."""

from __future__ import annotations

import sys

from eigenbench.bench.jobs.embed import write_embedding
from eigenbench.bench.jobs.job_context import JobContext, run_job
from eigenbench.bench.jobs.search import fit_features_here, supervised_search
from eigenbench.bench.jobs.train import train


def fit_seed(context: JobContext, seed: int) -> None:
    """Embed, search, train and test with each classifier of a method."""
    spec = context.spec
    usable = context.obstacle() is None
    if spec.shares_embedding:
        usable = write_embedding(context, seed)["status"] == "ok"
    for classifier in spec.classifiers:
        reports = None
        if spec.searches(classifier) and usable:
            points = spec.points(classifier)
            reports = [supervised_search(context, classifier, seed, points, fit_features_here)]
        train(context, classifier, seed, reports)


if __name__ == "__main__":
    sys.exit(run_job(fit_seed, __doc__, seeds={"type": int, "nargs": "+", "required": True}))
