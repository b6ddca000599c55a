"""Elementwise expansion of projections in powers of their positive and negative parts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from eigenbench.methods.embeddings.row_transformer import UnsupervisedFit
from eigenbench.methods.parameter_constraints import NOT_NEGATIVE

#: Rows expanded at a time: input and output of one step stay in the processor's cache.
_CHUNK_BYTES = 2**20


class SignedPowers(UnsupervisedFit):
    r"""Expand every input z into :math:`\max(0, \delta z)^p` for both signs :math:`\delta` and all powers p.

    With the default powers this is the nonlinearity of GEM: a cubic in :math:`|z|^{1/2}` with one piece
    for each sign [1]_. A linear classifier on the output can fit any such function of each projection.

    Parameters
    ----------
    powers : sequence of float, default=(0.5, 1.0, 1.5)
        The exponents p > 0. Multiples of ½ cost one square root and multiplications only.
    offset : float, default=0.0
        Smooths the square root at zero: :math:`\max(0, \delta z)^p` becomes :math:`r^{2p}` with
        :math:`r = \sqrt{o + \max(0, \delta z)} - \sqrt{o}`. 0 is the formula of the paper.

    Attributes
    ----------
    n_features_in_ : int
        Number of inputs m.
    feature_names_in_ : ndarray of str
        Names of the inputs, when they had names.

    Notes
    -----
    The output has ``2 * len(powers) * m`` columns of the input's type (float32 or float64), ordered by
    sign (+ first), then power, then input; it is computed into one preallocated array. Sparse input gives
    sparse output, because 0 maps to 0.

    References
    ----------
    .. [1] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014, Algorithm 1, step 6.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench import SignedPowers
    >>> SignedPowers(powers=(0.5, 1)).fit_transform(np.array([[4.0, -9.0]]))
    array([[2., 0., 4., 0., 0., 3., 0., 9.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "powers": ["array-like"],
        "offset": [NOT_NEGATIVE],
    }

    _shape_suffices: ClassVar[bool] = True

    def __init__(self, powers: Any = (0.5, 1.0, 1.5), offset: float = 0.0) -> None:
        self.powers = powers
        self.offset = offset

    def _learn(self, X: Any) -> None:
        powers = np.asarray(self.powers, dtype=float)
        if powers.ndim != 1 or powers.size == 0 or not np.all((powers > 0) & np.isfinite(powers)):
            raise ValueError(f"powers must be a non-empty list of positive numbers, got {self.powers!r}.")

    def transform(self, X: Any) -> Any:
        """Expand the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, m)
            The projections; a sparse matrix without duplicate entries.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, 2 * len(powers) * m)
            The expanded features, of the type of X.
        """
        X = self._fitted_rows(X)
        if sparse.issparse(X):
            return self._transform_sparse(X)
        width = X.shape[1]
        out = np.empty((X.shape[0], 2 * len(self.powers) * width), dtype=X.dtype)
        rows = max(1, _CHUNK_BYTES // max(1, out.shape[1] * out.itemsize))
        for start in range(0, X.shape[0], rows):
            chunk = X[start : start + rows]
            for side, sign in enumerate((1, -1)):
                root = self._root(chunk if sign > 0 else -chunk)
                for index, power in enumerate(self.powers):
                    column = (side * len(self.powers) + index) * width
                    _raise_root(root, power, out[start : start + rows, column : column + width])
        return out

    def _root(self, values: np.ndarray) -> np.ndarray:
        """Return r = √(offset + max(0, values)) − √offset in a new array."""
        root = np.maximum(values, 0)
        if self.offset:
            root += self.offset
        np.sqrt(root, out=root)
        if self.offset:
            root -= np.sqrt(values.dtype.type(self.offset))
        return root

    def _transform_sparse(self, X: Any) -> Any:
        parts = []
        for sign in (1, -1):
            for power in self.powers:
                part = X.copy()
                root = self._root(sign * X.data)
                part.data = _raise_root(root, power, np.empty_like(root))
                part.eliminate_zeros()
                parts.append(part)
        return sparse.hstack(parts, format="csr", dtype=X.dtype)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the outputs ``<input>_pos_<power>`` and ``<input>_neg_<power>``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the inputs; the names seen in ``fit``, or ``x0, x1, …``, by default.

        Returns
        -------
        ndarray of str objects of shape (2 * len(powers) * m,)
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.asarray(
            [f"{name}_{side}_{p:g}" for side in ("pos", "neg") for p in self.powers for name in names],
            dtype=object,
        )


def _raise_root(root: np.ndarray, power: float, out: np.ndarray) -> np.ndarray:
    """Write ``root ** (2 * power)`` into ``out``, by multiplication when the exponent is a small integer."""
    exponent = 2 * power
    if exponent not in (1, 2, 3, 4):
        return np.power(root, root.dtype.type(exponent), out=out)
    if exponent == 1:
        np.copyto(out, root)
        return out
    np.multiply(root, root, out=out)
    if exponent == 3:
        np.multiply(out, root, out=out)
    elif exponent == 4:
        np.multiply(out, out, out=out)
    return out
