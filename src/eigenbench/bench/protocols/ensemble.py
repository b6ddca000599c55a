"""Error and cross entropy of an ensemble's members, and of the ensemble as it grows."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from eigenbench.bench.protocols.base import ClassifierSettings, Outcome, Several, Trial


class EnsembleSettings(ClassifierSettings):
    """The number of members of an ensemble, and the classifier that each has on its own features.

    - ``members``: Members, which differ by their seeds and variants.
    - ``variants``: Parameters, ``step__parameter``, that the members' features have in turn; "passthrough" as
      the value of a ``step`` leaves it out. Not more than members.
    """

    headline: ClassVar[str] = "error"

    members: int = Field(default=5, ge=2)
    variants: Several[dict[str, Any]] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _no_idle_variants(self) -> EnsembleSettings:
        if self.variants and len(self.variants) > self.members:
            raise ValueError(f"{len(self.variants)} variants need as many members, there are {self.members}")
        return self

    def parameters(self) -> tuple[tuple[str, list[Any]], ...]:
        """Return what members' features have in turn, but for steps that are left out."""
        changes = [item for variant in self.variants or () for item in variant.items()]
        return tuple((name, [value]) for name, value in changes if "__" in name)

    def metrics(self) -> tuple[str, ...]:
        """Return the names of the ensemble's errors and losses, and of its members'."""
        return ("error", "test_errors", "log_loss", "member_error", "member_log_loss")


def measure(trial: Trial) -> Outcome:
    """Train members that differ by seed or variant on all rows, and test every ensemble of the first t.

    ``error``, ``test_errors``, their number, and ``log_loss`` (nats a row) of the ensemble of all members,
    error and loss also as curves over their number, and ``member_error`` and ``member_log_loss``, the
    members' means.
    """
    from eigenbench.methods.classifiers.geometric_mean_ensemble import GeometricMeanEnsemble
    from eigenbench.methods.linalg.row_blocks import row_slices

    settings: EnsembleSettings = trial.settings
    data = trial.data()
    member = trial.load(settings.classifier)(feature_map=trial.build(), **settings.params)
    variants = settings.variants and [
        {f"feature_map__{name}": value for name, value in changes.items()} for changes in settings.variants
    ]
    ensemble = GeometricMeanEnsemble(
        member, n_estimators=settings.members, variants=variants, random_state=trial.seed
    )
    started = time.perf_counter()
    ensemble.fit(data.X_train, data.y_train)
    fitted = time.perf_counter()
    if unseen := set(np.unique(data.y_test)) - set(ensemble.classes_):
        names = ", ".join(str(data.classes[code]) for code in sorted(unseen))
        raise ValueError(f"test rows of classes without a training row: {names}")
    truth = np.searchsorted(ensemble.classes_, data.y_test)
    wrong, loss = np.zeros((2, settings.members)), np.zeros((2, settings.members))
    for rows in row_slices(data.X_test.shape[0], 8 * settings.members * len(ensemble.classes_)):
        for row, probabilities in enumerate(_members_and_prefixes(ensemble, data.X_test[rows])):
            wrong[row] += (probabilities.argmax(axis=2) != truth[rows]).sum(axis=1)
            of_truth = probabilities[:, np.arange(len(truth[rows])), truth[rows]]
            loss[row] -= np.log(of_truth).sum(axis=1)
    predicted = time.perf_counter()
    error, loss = wrong / len(truth), loss / len(truth)
    sizes = range(1, settings.members + 1)
    return Outcome(
        {
            "error": float(error[1, -1]),
            "test_errors": float(wrong[1, -1]),
            "log_loss": float(loss[1, -1]),
            "member_error": float(error[0].mean()),
            "member_log_loss": float(loss[0].mean()),
        },
        {
            "error_by_members": list(zip(sizes, error[1].tolist(), strict=True)),
            "log_loss_by_members": list(zip(sizes, loss[1].tolist(), strict=True)),
        },
        dimension=ensemble.estimators_[0].coef_.shape[-1],
        fit_seconds=fitted - started,
        predict_seconds=predicted - fitted,
    )


def _members_and_prefixes(ensemble: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities (t, rows, classes) of each member, and of the ensemble of the first t."""
    from eigenbench.methods.classifiers.geometric_mean_ensemble import MIN_PROBABILITY

    members = np.stack([np.maximum(one.predict_proba(X), MIN_PROBABILITY) for one in ensemble.estimators_])
    members /= members.sum(axis=2, keepdims=True)
    counts = np.arange(1, len(members) + 1)[:, None, None]
    prefixes = np.exp(np.cumsum(np.log(members), axis=0) / counts)
    return members, prefixes / prefixes.sum(axis=2, keepdims=True)
