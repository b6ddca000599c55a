"""Vowpal Wabbit's multiclass learners, to compare with: one against all, and the logarithmic-time tree.

The examples go through files, as with the command line; the driver that reads them is Vowpal Wabbit's own.
"""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from itertools import repeat
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import vowpalwabbit
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.datasets import dump_svmlight_file
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from eigenbench.methods.classifiers.row_weights import CLASS_WEIGHTS, with_class_weights
from eigenbench.methods.linalg.row_blocks import checked_weights, rows_that_count, validated
from eigenbench.methods.parameter_constraints import POSITIVE, POSITIVE_INTEGER, Interval, StrOptions

_DTYPES = [np.float32, np.float64]


class _VowpalWabbit(ClassifierMixin, BaseEstimator):
    """Trains and predicts by Vowpal Wabbit's driver; a subclass says which reduction."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_passes": [POSITIVE_INTEGER],
        "learning_rate": [POSITIVE],
        "loss": [StrOptions({"squared", "logistic", "hinge"})],
        "bits": [Interval(Integral, 10, 31, closed="both")],
        "random_state": ["random_state"],
    }

    n_passes: int
    learning_rate: float
    loss: str
    bits: int
    random_state: Any

    @abstractmethod
    def _reduction(self, n_classes: int) -> list[str]:
        """Return the arguments that choose the learner."""

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray]:
        X, y = validated(self, X, y, accept_sparse="csr", accept_large_sparse=False, dtype=_DTYPES)
        check_classification_targets(y)
        return X, y

    def _learn(self, X: Any, codes: NDArray[np.int64], weights: NDArray[np.float64] | None = None) -> None:
        """Learn from the rows in a random order, the same in each pass."""
        order = check_random_state(self.random_state).permutation(len(codes))
        with tempfile.TemporaryDirectory(prefix="eigenbench-vw-") as folder:
            data, model, cache = (Path(folder) / name for name in ("train.vw", "model", "cache"))
            _write(data, X[order], codes[order] + 1, None if weights is None else weights[order])
            _drive(
                *("--data", str(data), "--final_regressor", str(model), "--holdout_off"),
                *("--passes", str(self.n_passes), "--cache_file", str(cache), "--kill_cache"),
                *("--bit_precision", str(self.bits), "--loss_function", self.loss),
                *("--learning_rate", str(self.learning_rate)),
                *self._reduction(max(2, len(self.classes_))),
            )
            self.model_ = np.fromfile(model, dtype=np.uint8)

    def predict(self, X: Any) -> NDArray:
        """Return the predicted class of each row, shape (n_samples,)."""
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", accept_large_sparse=False, dtype=_DTYPES, reset=False)
        with tempfile.TemporaryDirectory(prefix="eigenbench-vw-") as folder:
            data, model, found = (Path(folder) / name for name in ("test.vw", "model", "predicted"))
            self.model_.tofile(model)
            _write(data, X, np.ones(X.shape[0], dtype=np.int64))
            _drive(
                *("--data", str(data), "--initial_regressor", str(model), "--testonly"),
                *("--predictions", str(found)),
            )
            codes = np.loadtxt(found, dtype=np.float64, ndmin=1).astype(np.int64) - 1
        # The tree can end in a leaf that no training row reached; its prediction is no class.
        return self.classes_[np.clip(codes, 0, len(self.classes_) - 1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class VowpalWabbitOAA(_VowpalWabbit):
    """One linear score against the rest for each class, learned online (``--oaa``).

    ``learning_rate`` is the initial rate of the adaptive, normalised updates, and ``loss`` that of a
    class's score, where the target is 1 for its rows and -1 for the others. Features of all classes share
    2^``bits`` weights by hashing. ``model_`` has the bytes that Vowpal Wabbit writes. O(nnz(X) c) time
    for each pass and for prediction; 16 · 2^bits bytes of memory.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_VowpalWabbit._parameter_constraints,
        "class_weight": CLASS_WEIGHTS,
    }

    def __init__(
        self,
        *,
        n_passes: int = 5,
        learning_rate: float = 0.5,
        loss: str = "squared",
        bits: int = 22,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_passes = n_passes
        self.learning_rate = learning_rate
        self.loss = loss
        self.bits = bits
        self.random_state = random_state
        self.class_weight = class_weight

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> VowpalWabbitOAA:
        """Learn from the rows in a random order, the same in each pass.

        ``sample_weight`` (n_samples,) are importance weights ≥ 0: an update for a row of weight 2 is about
        that of two rows in turn. Raises `ValueError` if a weight is negative.
        """
        X, y = self._checked(X, y)
        X, y, weights = rows_that_count(X, y, checked_weights(sample_weight, X))
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._learn(X, codes, with_class_weights(self.class_weight, self.classes_, codes, weights))
        return self

    def _reduction(self, n_classes: int) -> list[str]:
        return ["--oaa", str(n_classes)]


class VowpalWabbitLOMTree(_VowpalWabbit):
    """A tree of binary classifiers of logarithmic depth, grown online (``--log_multi``).

    Parameters are those of `VowpalWabbitOAA`, but for these. ``loss`` is that of the score that sends a row
    right or left: the tree compares means of these scores, so they should be bounded, as those of the squared
    loss are: from -1 to 1. The tree may grow ``nodes_per_class`` inner nodes for each class; one with more
    leaves than classes can put the rows of a class, which reach it by several ways, into several leaves. The
    larger ``swap_resistance``, the more rows a node must have seen before it takes a rarely used leaf from
    elsewhere (A. Choromanska and J. Langford, "Logarithmic time online multiclass prediction", NIPS 2015).

    O(nnz(X) log c) time for each pass and for prediction; 16 · 2^bits bytes of memory. ``fit`` takes no
    weights of rows: the tree counts rows where it grows, and with weights puts most into few leaves.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_VowpalWabbit._parameter_constraints,
        "nodes_per_class": [POSITIVE_INTEGER],
        "swap_resistance": [POSITIVE_INTEGER],
    }

    def __init__(
        self,
        *,
        n_passes: int = 5,
        learning_rate: float = 0.5,
        loss: str = "squared",
        bits: int = 22,
        nodes_per_class: int = 1,
        swap_resistance: int = 4,
        random_state: Any = None,
    ) -> None:
        self.n_passes = n_passes
        self.learning_rate = learning_rate
        self.loss = loss
        self.bits = bits
        self.random_state = random_state
        self.nodes_per_class = nodes_per_class
        self.swap_resistance = swap_resistance

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> VowpalWabbitLOMTree:
        """Grow the tree on the rows in a random order, the same in each pass."""
        X, y = self._checked(X, y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._learn(X, codes)
        return self

    def _reduction(self, n_classes: int) -> list[str]:
        # Vowpal Wabbit has one node for each class that is announced, so announcing more makes more nodes.
        announced = ("--log_multi", str(self.nodes_per_class * n_classes))
        return [*announced, "--swap_resistance", str(self.swap_resistance)]


def _write(path: Path, X: Any, labels: NDArray[np.int64], weights: NDArray[np.float64] | None = None) -> None:
    """Write ``label weight | index:value …``, one row a line; without weights none is written."""
    plain = path.with_suffix(".svmlight")
    dump_svmlight_file(X, labels, str(plain), zero_based=True)
    importance = repeat(b"") if weights is None else (b" %.9g" % weight for weight in weights)
    with plain.open("rb") as source, path.open("wb") as target:
        for line, weight in zip(source, importance, strict=weights is not None):
            label, _, pairs = line.partition(b" ")
            target.write(b"%s%s | %s" % (label.rstrip(b"\n"), weight, pairs or b"\n"))
    plain.unlink()


def _drive(*arguments: str) -> None:
    """Run the driver over its data file and write what it was asked for."""
    vowpalwabbit.Workspace(arg_list=list(arguments), enable_logging=True).finish()
