"""Random Maclaurin features: products of random signs for the powers of the inner product."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial.polynomial import polyval
from sklearn.utils.extmath import safe_sparse_dot

from eigenbench.methods.embeddings.kernel_features.random_map import (
    COMPLEX_SIGNS,
    PolynomialKernelMap,
    ProductMomentsMixin,
    sketch_width,
    unit_cosines,
    unit_squared_products,
    write_parts,
)
from eigenbench.methods.embeddings.kernel_features.spherical_density import maclaurin_coefficients


class MaclaurinMap(ProductMomentsMixin, PolynomialKernelMap):
    """Base of the maps by products of random signs, which differ in how many features each order gets."""

    orders_: np.ndarray
    weights_: np.ndarray
    signs_: list[np.ndarray]

    #: Whether signs are complex.
    complex: bool = False

    @abstractmethod
    def _low_orders_exact(self) -> bool:
        """Return whether the constant and the linear terms are exact, and only orders from 2 on sampled."""

    def _draw_signs(self, n_inputs: int, dtype: Any, rng: np.random.RandomState) -> None:
        """Draw the signs for ``orders_``; orders above the degree, of weight zero, need none beyond it."""
        used = np.minimum(self.orders_, self.degree)
        counts = [int(np.count_nonzero(used >= j)) for j in range(1, used.max(initial=0) + 1)]
        if self.complex:
            dtype = np.result_type(dtype, np.complex64)
            self.signs_ = [rng.choice(COMPLEX_SIGNS, (n_inputs, count)).astype(dtype) for count in counts]
        else:
            self.signs_ = [_random_signs(rng, (n_inputs, count), dtype) for count in counts]

    def _arrays(self, dtype: np.dtype) -> list[np.ndarray]:
        dtype = np.result_type(dtype, np.complex64) if self.complex else dtype
        return [signs.astype(dtype, copy=False) for signs in self.signs_]

    def _map_block(self, block: Any, arrays: list[np.ndarray], out: np.ndarray) -> None:
        exact = block.shape[1] + 1 if self._low_orders_exact() else 0
        if exact:
            constant, linear = np.sqrt(maclaurin_coefficients(self.degree, self.a)[:2])
            out[:, 0] = constant
            out[:, 1:exact] = block.toarray() if hasattr(block, "toarray") else block
            out[:, 1:exact] *= out.dtype.type(linear)
        sampled = out[:, exact:]
        if self.complex:
            sampled = np.empty((len(out), self.orders_.size), np.result_type(out.dtype, np.complex64))
        sampled[:] = self.weights_.astype(out.dtype)
        for signs in arrays:
            product = safe_sparse_dot(block, signs, dense_output=True)
            sampled[:, sampled.shape[1] - signs.shape[1] :] *= product
        if self.complex:
            write_parts(sampled, out[:, exact:])


class RandomMaclaurin(MaclaurinMap):
    r"""Approximate the polynomial kernel on the sphere by random Maclaurin features.

    The kernel is :math:`\alpha (q + x^\top y)^p = \sum_n a_n (x^\top y)^n`, q = a²/2 − 1, α = (2/a²)^p. A
    feature draws the order N with probability :math:`2^{-(N+1)}` and N sign vectors ω, and is
    :math:`\sqrt{a_N 2^{N+1} / D} \prod_{j \le N} \omega_j^\top x` [1]_. The inner product of two feature rows
    is an unbiased estimate of the kernel; its variance falls as 1/D.

    Parameters
    ----------
    degree : int, default=7
        The power p ≥ 1.
    a : float, default=4.0
        The scale a ≥ 2 of the kernel.
    n_components : int, default=512
        Number of features D.
    h01 : bool, default=False
        The variant H0/1 of [1]_: the constant and the d linear terms are exact, and the other D − d − 1
        features draw from the orders N ≥ 2, with probability :math:`2^{-(N-1)}`.
    complex : bool, default=False
        Draw signs from 1, −1, i and −i, and take the real and imaginary parts of complex features, half as
        many as there is room for [2]_. The orders are drawn all the same, and they make most of the variance.
    rows : {"normalize", "check"}, default="normalize"
        Scale rows to unit length, or refuse rows that are not.
    random_state : int, RandomState instance or None, default=None
        Seed of the orders and the signs.

    Attributes
    ----------
    orders_ : ndarray of shape (n_sampled,)
        The order N of each sampled feature, ascending.
    signs_ : list of ndarray of shape (d, n_j)
        For j = 1 … the j-th sign vectors of the last ``n_j`` features: those of order j or more.
    weights_ : ndarray of shape (n_sampled,)
        The factors :math:`\sqrt{a_N / (P(N) n_{sampled})}`; zero for orders above p.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    ``fit`` reads only the width and the type of X. The mean order is 1, so a transform costs about 2ndD
    flops, and about d·D values are kept; with H0/1 the
    mean order of the sampled features is 3.

    References
    ----------
    .. [1] P. Kar and H. Karnick, "Random Feature Maps for Dot Product Kernels", AISTATS 2012, Algorithm 1
       and section 6.1.
    .. [2] J. Wacker, R. Ohana and M. Filippone, "Complex-to-Real Sketches for Tensor Products with
       Applications to the Polynomial Kernel", 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench.methods.embeddings.kernel_features.random_maclaurin import RandomMaclaurin
    >>> RandomMaclaurin(3, n_components=64, random_state=0).fit_transform(np.eye(4)).shape
    (4, 64)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PolynomialKernelMap._parameter_constraints,
        "h01": ["boolean"],
        "complex": ["boolean"],
    }

    _shape_suffices: ClassVar[bool] = True

    def __init__(
        self,
        degree: int = 7,
        a: float = 4.0,
        n_components: int = 512,
        *,
        h01: bool = False,
        complex: bool = False,
        rows: str = "normalize",
        random_state: Any = None,
    ) -> None:
        super().__init__(degree, a, n_components, rows=rows, random_state=random_state)
        self.h01 = h01
        self.complex = complex

    def _draw(self, X: Any, rng: np.random.RandomState) -> None:
        width = X.shape[1]
        exact = width + 1 if self.h01 else 0
        if exact > self.n_components:
            raise ValueError(
                f"h01=True needs n_components ≥ {exact} for the constant and {width} linear terms, "
                f"got {self.n_components}."
            )
        first = 2 if self.h01 else 0
        n_sampled = sketch_width(self.n_components - exact, self.complex)
        self.orders_ = np.sort(first - 1 + rng.geometric(0.5, size=n_sampled))
        coefficients = np.zeros(max(self.degree, self.orders_.max(initial=0)) + 1)
        coefficients[: self.degree + 1] = maclaurin_coefficients(self.degree, self.a)
        probability = 0.5 ** (self.orders_ - first + 1.0)
        self.weights_ = np.sqrt(coefficients[self.orders_] / (probability * max(1, n_sampled)))
        self._draw_signs(width, X.dtype, rng)

    def _low_orders_exact(self) -> bool:
        return self.h01

    def _moments_are_known(self) -> bool:
        return not self.complex

    def _product_moments(self, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        r"""Return mean and variance of the product of two feature rows over draws of the map.

        The mean is the kernel, or with H0/1 and no sampled feature its first two terms. A feature of order n
        has the second moment :math:`a_n^2 s^n / P(n)` with :math:`s = 1 + 2 (x^\top y)^2 - 2 \sum_i x_i^2
        y_i^2`, that of the product of two signs.
        """
        cosines, second = product_of_signs_moments(X, Y)
        coefficients = maclaurin_coefficients(self.degree, self.a)
        first = 2 if self.h01 else 0
        sampled = np.where(np.arange(self.degree + 1) >= first, coefficients, 0.0)
        inverse_probabilities = 2.0 ** (np.arange(self.degree + 1) - first + 1)
        power = polyval(second, sampled**2 * inverse_probabilities)
        if not self.orders_.size:
            return polyval(cosines, coefficients[:2]), np.zeros_like(cosines)
        return polyval(cosines, coefficients), (power - polyval(cosines, sampled) ** 2) / self.orders_.size


def product_of_signs_moments(X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
    r"""Return mean and second moment of the product of :math:`\omega^\top x` and :math:`\omega^\top y`.

    ``X``, ``Y`` (n, d) and (m, d): rows, taken at unit length; ω has real signs. Results of shape (n, m).
    """
    cosines = unit_cosines(X, Y)
    return cosines, 1 + 2 * cosines**2 - 2 * unit_squared_products(X, Y)


def _random_signs(rng: np.random.RandomState, shape: tuple[int, int], dtype: Any) -> np.ndarray:
    """Draw ±1 with equal probability, one random bit each."""
    size = shape[0] * shape[1]
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-size // 8)), dtype=np.uint8), count=size)
    signs = bits.reshape(shape).astype(dtype)
    signs *= 2
    signs -= 1
    return signs
