"""Metric learners of the package metric-learn, to compare with.

metric-learn 0.7 checks its inputs with keywords that scikit-learn 1.8 no longer has; the classes here check
them as scikit-learn does today. What is learned, and how, is the package's own.
"""

from __future__ import annotations

from typing import Any

import metric_learn
import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data


class _CheckedInputs:
    """Replaces metric-learn's checks; it has no preprocessor that turns indices into rows."""

    def _prepare_inputs(self, X: Any, y: Any = None, type_of_inputs: str = "classic", **checks: Any) -> Any:
        self.preprocessor_ = None
        if type_of_inputs == "tuples":
            # Only metric-learn itself makes these, of rows that were checked.
            return X, y
        return validate_data(self, X, y, dtype=np.float64, **checks)

    def transform(self, X: Any) -> np.ndarray:
        """Map rows so that Euclidean distances are the learned ones, shape (n, d), float64."""
        check_is_fitted(self, "components_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.components_.T  # type: ignore[attr-defined]


class LFDA(_CheckedInputs, metric_learn.LFDA):
    """Local Fisher discriminant analysis (Sugiyama 2007), see ``metric_learn.LFDA``."""

    def fit(self, X: Any, y: Any) -> LFDA:
        """Find the directions; raise ``ValueError`` where the scatter within classes is singular."""
        super().fit(X, y)
        if not np.isfinite(self.components_).all():
            raise ValueError(
                "LFDA finds no finite directions: the scatter within classes is singular, as with more "
                "inputs than rows, a class of a single row, or rows that coincide with their neighbours."
            )
        return self


class NCA(_CheckedInputs, metric_learn.NCA):
    """Neighbourhood components analysis (Goldberger et al. 2005), see ``metric_learn.NCA``."""


class MMC_Supervised(_CheckedInputs, metric_learn.MMC_Supervised):
    """Mahalanobis metric for clustering (Xing et al. 2002), see ``metric_learn.MMC_Supervised``."""
