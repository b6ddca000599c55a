"""Test error of linear support vector machines on random features, beside the exact kernel's."""

from __future__ import annotations

import time
from typing import Annotated, ClassVar

from pydantic import Field

from eigenbench.bench.protocols.base import Outcome, ProtocolSettings, Several, Sizes, Trial, at_sizes


class Settings(ProtocolSettings):
    """The kernel ``(1 - |x - y|² / a²)^degree``, the sizes D, and the values of C to choose from.

    ``C`` is ascending. A method without steps is the exact kernel: a kernel machine, which chooses from
    ``exact_C``.
    """

    headline: ClassVar[str] = "test_error_at_2048"

    degree: int = Field(ge=1)
    a: float = Field(default=4.0, ge=2)
    sizes: Sizes = (512, 1024, 2048, 4096, 8192, 16384)
    C: Several[Annotated[float, Field(gt=0)]] = Field(min_length=1, default=(1.0, 10.0, 100.0))
    exact_C: Several[Annotated[float, Field(gt=0)]] = Field(min_length=1, default=(1.0, 10.0, 100.0))
    validation_fraction: float = Field(default=1 / 6, gt=0, lt=1)
    tol: float = Field(default=1e-2, gt=0)

    def work(self, rows: int, features: int) -> int:
        """Estimate the numbers that one measurement computes on: features of all sizes, for each C."""
        return rows * sum(self.sizes) * len(self.C)

    def metrics(self) -> tuple[str, ...]:
        """Return the names of errors and chosen C at every size."""
        return at_sizes(("test_error", "validation_error", "C"), self.sizes)


def measure(trial: Trial) -> Outcome:
    """For each size, choose C on a held-out part of the training rows, train on all of them, and test.

    The machines on features minimise the objective of ``LinearSVC``, one against the rest
    (`eigenbench.methods.classifiers.squared_hinge`). The exact machine is ``SVC`` with the polynomial
    kernel, whose loss is the hinge and whose classes are separated in pairs; its error is given for every
    size.

    Returns
    -------
    Outcome
        For each size D: ``test_error_at_D``, also a curve over D, ``validation_error_at_D`` and ``C_at_D``.
    """
    from eigenbench.bench.protocols.support_vector_machines import (
        UnitRows,
        exact_machine,
        machine_on_features,
    )

    settings: Settings = trial.settings
    data = UnitRows.of(trial, settings.validation_fraction)
    started = time.perf_counter()
    if trial.build().steps[-1][1] == "passthrough":
        found = dict.fromkeys(settings.sizes, exact_machine(data, settings))
    else:
        found = {
            size: machine_on_features(trial.build(n_components=size), data, settings)
            for size in settings.sizes
        }
    metrics = {f"{name}_at_{size}": value for size, result in found.items() for name, value in result.items()}
    curve = [(size, result["test_error"]) for size, result in found.items()]
    return Outcome(metrics, {"test_error_by_features": curve}, fit_seconds=time.perf_counter() - started)
