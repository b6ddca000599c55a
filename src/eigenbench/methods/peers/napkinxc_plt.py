"""Probabilistic label trees of napkinXC, an extreme classifier to compare with."""

from __future__ import annotations

import ctypes
import tempfile
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import napkinxc.models
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from eigenbench.methods.linalg.row_blocks import class_indicators, validated
from eigenbench.methods.parameter_constraints import POSITIVE, POSITIVE_INTEGER, Interval

_DTYPES = [np.float32]


class NapkinXCPLT(ClassifierMixin, BaseEstimator):
    """Probabilistic label tree with logistic nodes, built by hierarchical k-means of the labels.

    Rows are scaled to unit length and get a constant feature, as napkinXC does by default. ``C`` is the
    inverse regularisation of the nodes; one of the lowest inner nodes has at most ``max_leaves`` labels. With
    more than one of ``n_jobs`` threads results depend on their timing. ``model_files_`` has the model as
    napkinXC writes it, by file name. O(nnz(X) log c) time for each pass of training and, with few relevant
    labels, for prediction (K. Jasinska-Kobus, M. Wydmuch, K. Dembczynski, M. Kuznetsov and R. Busa-Fekete,
    "Probabilistic label trees for extreme multi-label classification", 2020).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [POSITIVE],
        "max_leaves": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [POSITIVE_INTEGER],
        "random_state": ["random_state"],
    }

    def __init__(
        self, *, C: float = 10.0, max_leaves: int = 100, n_jobs: int = 1, random_state: Any = None
    ) -> None:
        self.C = C
        self.max_leaves = max_leaves
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> NapkinXCPLT:
        """Build the tree and train its nodes on float32 rows; y is of class labels or an indicator matrix."""
        X, y = validated(
            self, X, y, accept_sparse="csr", accept_large_sparse=False, dtype=_DTYPES, multi_output=True
        )
        indicator = self._indicator(y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with tempfile.TemporaryDirectory(prefix="eigenbench-plt-") as folder:
            model = napkinxc.models.PLT(
                folder,
                liblinear_c=self.C,
                weights_threshold=0.1,
                max_leaves=self.max_leaves,
                threads=self.n_jobs,
                seed=seed,
            )
            # LIBLINEAR inside shuffles by the C library's own generator.
            ctypes.CDLL(None).srand(seed)
            model.fit(csr_matrix(X), indicator)
            self.model_files_ = {
                str(path.relative_to(folder)): np.fromfile(path, dtype=np.uint8)
                for path in sorted(Path(folder).rglob("*"))
                if path.is_file()
            }
        return self

    def _indicator(self, y: Any) -> csr_matrix:
        self._output = "sparse" if issparse(y) else "dense" if y.ndim == 2 and y.shape[1] > 1 else "labels"
        self._dtype = y.dtype.str
        if self._output != "labels":
            self.classes_ = np.arange(y.shape[1])
            return csr_matrix(y, dtype=np.float32)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return csr_matrix(class_indicators(codes, len(self.classes_), np.float32))

    def predict_top_k(self, X: Any, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the columns of the k most probable labels of each row, and their probabilities, falling.

        Both are of shape (n_samples, k); -1 and 0 fill short rows.
        """
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", accept_large_sparse=False, dtype=_DTYPES, reset=False)
        with tempfile.TemporaryDirectory(prefix="eigenbench-plt-") as folder:
            for name, content in self.model_files_.items():
                path = Path(folder, name).resolve()
                if not path.is_relative_to(Path(folder).resolve()):
                    raise ValueError(f"the model has a file {name!r}, which points outside its folder")
                path.parent.mkdir(parents=True, exist_ok=True)
                content.tofile(path)
            model = napkinxc.models.PLT(folder, threads=self.n_jobs)
            rows = model.predict_proba(csr_matrix(X), top_k=k)
        labels, probabilities = np.full((len(rows), k), -1), np.zeros((len(rows), k))
        for row, found in enumerate(rows):
            if found:
                labels[row, : len(found)], probabilities[row, : len(found)] = zip(*found, strict=True)
        return labels, probabilities

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, or the indicator of the labels above 0.5."""
        check_is_fitted(self)
        if self._output == "labels":
            labels, _ = self.predict_top_k(X, 1)
            return self.classes_[np.maximum(labels[:, 0], 0)]
        labels, probabilities = self.predict_top_k(X, len(self.classes_))
        rows, places = np.nonzero(probabilities > 0.5)
        shape = (len(labels), len(self.classes_))
        found = csr_array((np.ones(len(rows), self._dtype), (rows, labels[rows, places])), shape=shape)
        return found if self._output == "sparse" else found.toarray()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
