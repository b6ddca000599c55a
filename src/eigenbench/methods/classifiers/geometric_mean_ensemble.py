"""An ensemble that multiplies the probabilities of its members."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter

from eigenbench.methods.classifiers.row_weights import nested_fit_arguments, routing_to
from eigenbench.methods.classifiers.score_classifier import OneLabelClassifier
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER, HasMethods

#: Smaller probabilities of a member are raised to this before the logarithm, so that a class which one member
#: excludes is made unlikely, not impossible.
MIN_PROBABILITY = 1e-6


class GeometricMeanEnsemble(MetaEstimatorMixin, OneLabelClassifier):
    r"""Average the log probabilities of members that differ by their seed, or by parameters.

    Every member is trained on all rows; what differs is the randomness of the estimator, such as the corners
    of the cube that ``GEM(pairs="hypercube")`` draws, and what ``variants`` say. The ensemble's probability
    of class c is :math:`\bar p_c \propto \prod_t p_{tc}^{1/T}` [1]_.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        The member, often a pipeline. In each clone every parameter named ``random_state``, also of nested
        estimators, is set to an integer drawn from ``random_state``. It gets the weights of rows that the
        ensemble is given: those that it requests, if metadata routing is enabled; else its ``fit`` must take
        them, or the ``fit`` of a step where it is a pipeline.
    n_estimators : int, default=5
        Number of members T.
    variants : list of dict or None, default=None
        Parameters of the members in turn: member t has those of position t modulo their number. The
        members' seeds are drawn afterwards.
    n_jobs : int or None, default=None
        Members fitted at once, as joblib counts.
    random_state : int, RandomState instance or None, default=None
        Seed of the members' seeds.

    Attributes
    ----------
    estimators_ : list of classifiers
        The fitted members.
    classes_ : ndarray of shape (c,)
        Class labels.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Time and memory are T times a member's. A geometric mean of distributions sums to at most one, so the
    ensemble's cross entropy is never above the mean of its members'; its error may be.

    References
    ----------
    .. [1] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014, section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from eigenbench import GEM, CalibratedLeastSquares, GeometricMeanEnsemble, SignedPowers
    >>> X, y = load_digits(return_X_y=True)
    >>> member = make_pipeline(GEM(top=2, pairs="hypercube"), SignedPowers(), CalibratedLeastSquares())
    >>> ensemble = GeometricMeanEnsemble(member, n_estimators=3, random_state=0)
    >>> bool(ensemble.fit(X[:1000] / 16, y[:1000]).score(X[1000:] / 16, y[1000:]) > 0.93)
    True
    """

    # What members take is theirs to check.
    _row_checks: ClassVar[dict[str, Any]] = {"accept_sparse": True, "dtype": None, "ensure_all_finite": False}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"])],
        "n_estimators": [POSITIVE_INTEGER],
        "variants": [list, tuple, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        n_estimators: int = 5,
        *,
        variants: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.variants = variants
        self.n_jobs = n_jobs
        self.random_state = random_state

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of weights: to the ensemble itself, and on to its members."""
        return routing_to(self, "estimator")

    def _fit_codes(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        rng = check_random_state(self.random_state)
        variants = [{}] if self.variants is None else self.variants
        if not 1 <= len(variants) <= self.n_estimators:
            raise ValueError(
                f"variants: {len(variants)} for {self.n_estimators} members; give one to as many."
            )
        members = [
            _reseeded(clone(self.estimator).set_params(**variants[t % len(variants)]), rng)
            for t in range(self.n_estimators)
        ]
        weighed = nested_fit_arguments(self, "estimator", weights)
        if weights is not None and not weighed:
            raise TypeError(f"sample_weight: {self.estimator} takes no weights, or has not requested them.")
        fits = (delayed(member.fit)(X, self.classes_[codes], **weighed) for member in members)
        self.estimators_ = list(Parallel(n_jobs=self.n_jobs)(fits))

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the mean of the members' log probabilities."""
        logs = np.zeros((X.shape[0], len(self.classes_)))
        for member in self.estimators_:
            logs += np.log(np.maximum(member.predict_proba(X), MIN_PROBABILITY))
        yield slice(0, X.shape[0]), logs / len(self.estimators_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        member = get_tags(self.estimator)
        tags.input_tags.sparse = member.input_tags.sparse
        tags.input_tags.allow_nan = member.input_tags.allow_nan
        return tags


def _reseeded(estimator: Any, rng: np.random.RandomState) -> Any:
    """Return a clone whose random states, nested ones too, are integers drawn in the order of their names."""
    member = clone(estimator)
    names = sorted(name for name in member.get_params() if name.split("__")[-1] == "random_state")
    return member.set_params(**{name: int(rng.randint(np.iinfo(np.int32).max)) for name in names})
