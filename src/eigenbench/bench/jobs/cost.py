"""A rough estimate of what a run costs, so that small runs share a job and large ones have jobs of their own.

Nothing but the sharing, and the time left that is shown, depends on it: results and paths do not. It rests on
the suite and the catalogue alone, never on an earlier run, so that the same suite always makes the same jobs.
"""

from __future__ import annotations

from typing import Literal

from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.suites.steps import Step, grid_size
from eigenbench.datasets.catalogue import CatalogueEntry

#: What one job does: whole methods, single seeds of methods, or a single fit.
Granularity = Literal["method", "seed", "fit"]

#: Estimated work of a method that is put into one job, and the estimated time from which a fit is a job of
#: its own, in seconds. A retry repeats all work of a job, and so does the run after a kill.
JOB_SECONDS = 60
FIT_SECONDS = 10

#: Estimated work of a suite from which its experiments are imported into MLflow one by one.
IMPORT_SECONDS = 800

#: To start a job, and to do what is no fit.
START_SECONDS = 2.0

#: Values (rows × features) that one core passes over in a second, and multiplications (rows × features²) that
#: it does. Measured on 183 jobs of `comparison`: their sum is right, half of them take 0.1 to 1 of their
#: estimate, iterative methods up to 40 times it.
_VALUES_PER_SECOND = 2e7
_PRODUCTS_PER_SECOND = 5e10

#: Share of the values of sparse data that are not zero, and the classes up to which their number is free.
_DENSITY = 0.05
_FEW_CLASSES = 10


def granularity_of(
    spec: JobSpec, entry: CatalogueEntry, n_seeds: int, values: int | None = None
) -> Granularity:
    """Return what one job does of a method.

    Parameters
    ----------
    spec : JobSpec
        The method with all its classifiers.
    entry : CatalogueEntry
        Its dataset in the catalogue.
    n_seeds : int
        Seeds that the method is run with.
    values : int, optional
        Values that one measurement of its protocol works on.
    """
    one_seed = seconds_of_seed(spec, entry, values)
    if seconds_of_fit(spec, entry, values) > FIT_SECONDS or one_seed > JOB_SECONDS:
        return "fit"
    return "method" if one_seed * n_seeds <= JOB_SECONDS else "seed"


def seconds_of_seed(spec: JobSpec, entry: CatalogueEntry, values: int | None = None) -> float:
    """Estimate the time of all fits of a method with one seed, or of one measurement."""
    fits = sum(
        1 + (spec.n_points or grid_size(spec.grid) * grid_size(chosen.grid) if spec.searches(name) else 0)
        for name, chosen in spec.classifiers.items()
    )
    return (fits if values is None else 1) * seconds_of_fit(spec, entry, values)


def seconds_of_fit(spec: JobSpec, entry: CatalogueEntry, values: int | None = None) -> float:
    """Estimate the time of one fit, or of one measurement that works on so many values."""
    if values is not None:
        return values / _VALUES_PER_SECOND
    rows, features = entry.rows_of_a_run, entry.expect.features
    widest = max(features, *_widths(spec.steps, features, entry.expect.classes), 0)
    passes = widest * (_DENSITY if entry.sparse else 1.0) / _VALUES_PER_SECOND
    products = 0.0 if entry.sparse else widest**2 / _PRODUCTS_PER_SECOND
    return rows * (passes + products) * max(1.0, entry.expect.classes / _FEW_CLASSES) ** 0.75


def _widths(steps: tuple[Step, ...], features: int, classes: int) -> list[int]:
    """Estimate the number of features behind each step: what it is asked for, or detectors of all pairs."""
    widths = []
    for step in steps:
        asked = step.params.get("n_components")
        if isinstance(asked, int):
            features = asked
        elif isinstance(step.params.get("top"), int):
            features = step.params["top"] * classes * (classes - 1)
        elif step.component == "SignedPowers":
            features *= 2 * len(step.params.get("powers", (0.5, 1, 1.5)))
        widths.append(features)
    return widths
