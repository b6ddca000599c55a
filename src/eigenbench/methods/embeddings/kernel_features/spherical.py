"""Spherical random features: random Fourier features for kernels defined on a sphere."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.interpolate import CubicSpline
from sklearn.utils.extmath import safe_sparse_dot

from eigenbench.methods.embeddings.kernel_features.frequencies import (
    Projections,
    draw_phases,
    trigonometric_features,
)
from eigenbench.methods.embeddings.kernel_features.random_map import (
    PolynomialKernelMap,
    ProductMomentsMixin,
    unit_cosines,
    unit_rows,
)
from eigenbench.methods.embeddings.kernel_features.spherical_density import (
    fit_radial_density,
    spherical_polynomial,
    spherical_wave,
)
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER, Interval, StrOptions

_GRID_POINTS = 201
_SAMPLE_ROWS = 1_000
#: Share of the uniform weight that "sample" keeps, so that no distance is left without a constraint.
_UNIFORM_SHARE = 0.01
#: Points of the grid on [0, 4] where the transform of the density is evaluated for moments.
_MOMENT_POINTS = 801


class SphericalRandomFeatures(ProductMomentsMixin, PolynomialKernelMap):
    r"""Approximate a radial kernel on the unit sphere by random Fourier features.

    The polynomial kernel :math:`K(z) = (1 - z^2/a^2)^p = \alpha (q + x^\top y)^p`, z = ‖x − y‖, q = a²/2 − 1,
    α = (2/a²)^p, is positive definite on spheres but not on the whole space, so it has no random Fourier
    features. It is approximated on [0, 2] by a kernel that has: the transform of a mixture of Gaussians with
    coefficients of either sign, clipped at zero [1]_. A frequency is a radius drawn from that density times
    a random direction.

    The defaults improve on [1]_: orthogonal directions [2]_ and a sine for each cosine. The original is
    ``directions="independent", phases="random"``.

    .. warning::
       The method is patented: US10438131B1 and US11636384B1, "Spherical random features for polynomial
       kernels". Whether and where a licence is needed is for the user to find out.

    Parameters
    ----------
    degree : float, default=7
        The power p ≥ 1 of the polynomial kernel, an integer or not.
    a : float, default=4.0
        The scale a ≥ 2 of the polynomial kernel.
    n_components : int, default=512
        Number of features D.
    n_gaussians : int, default=10
        Terms N of the mixture.
    kernel : callable or None, default=None
        Any other radial kernel, positive definite or not: a function of an array of distances in [0, 2]
        that returns an array of its shape. ``degree`` and ``a`` are then not used.
    n_starts : int, default=4
        Starts of the L-BFGS search for the mixture.
    distances : {"uniform", "sample"}, default="uniform"
        Where the fit must be good: at all distances alike, as in [1]_, or in proportion to the distances
        between up to 1,000 of the rows given to ``fit`` (with 1 % of the weight left uniform).
    directions : {"orthogonal", "independent", "hadamard"}, default="orthogonal"
        Directions orthogonal in blocks of d; independent; or structured blocks of signs and Hadamard
        transforms, nearly uniform, which cost O(log d) per feature for dense rows.
    phases : {"paired", "random"}, default="paired"
        A cosine and a sine for each of D/2 frequencies, or a cosine with a random phase for each of D.
    rows : {"normalize", "check"}, default="normalize"
        Scale rows to unit length, or refuse rows that are not.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts, the sampled rows and the frequencies.

    Attributes
    ----------
    coefficients_, sigmas_ : ndarray of shape (n_gaussians,)
        The mixture Σ c_i exp(−σ_i² z²) before clipping.
    kernel_grid_ : ndarray of shape (201,)
        Distances z on which the kernel was fitted.
    kernel_values_, fitted_values_ : ndarray of shape (201,)
        The kernel there, and the kernel that the features approximate without bias.
    fit_error_ : float
        Weighted mean of their squared difference: the floor of the error as D grows.
    radii_, masses_ : ndarray of shape (n_radii,)
        The density of the lengths of frequencies: its mass on a grid. The sum is the fitted kernel at 0.
    projections_ : Projections
        The frequencies.
    phases_ : ndarray
        Random phases of the last cosines.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    The features estimate ``fitted_values_`` without bias; their error falls as 1/D down to the floor
    ``fit_error_``. :class:`~eigenbench.SphericalHermiteFeatures` has no floor. ``fit`` costs about a second
    for the density, 2d²D flops or fewer for orthogonal directions, and d·D/2 values of memory. A transform
    costs n·d·D flops (2n·d·D with random phases).

    References
    ----------
    .. [1] J. Pennington, F. X. Yu and S. Kumar, "Spherical Random Features for Polynomial Kernels",
       NIPS 2015.
    .. [2] F. X. Yu et al., "Orthogonal Random Features", NIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench.methods.embeddings.kernel_features.spherical import SphericalRandomFeatures
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> F = SphericalRandomFeatures(3, n_components=2000, random_state=0).fit_transform(X)
    >>> exact = ((7 + X @ X.T) / 8) ** 3
    >>> bool(np.abs(F @ F.T - exact).max() < 0.05)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PolynomialKernelMap._parameter_constraints,
        "degree": [Interval(Real, 1, None, closed="left")],
        "n_gaussians": [POSITIVE_INTEGER],
        "kernel": [callable, None],
        "n_starts": [POSITIVE_INTEGER],
        "distances": [StrOptions({"uniform", "sample"})],
        "directions": [StrOptions({"orthogonal", "independent", "hadamard"})],
        "phases": [StrOptions({"paired", "random"})],
    }

    def __init__(
        self,
        degree: float = 7,
        a: float = 4.0,
        n_components: int = 512,
        n_gaussians: int = 10,
        *,
        kernel: Any = None,
        n_starts: int = 4,
        distances: str = "uniform",
        directions: str = "orthogonal",
        phases: str = "paired",
        rows: str = "normalize",
        random_state: Any = None,
    ) -> None:
        super().__init__(degree, a, n_components, rows=rows, random_state=random_state)
        self.n_gaussians = n_gaussians
        self.kernel = kernel
        self.n_starts = n_starts
        self.distances = distances
        self.directions = directions
        self.phases = phases

    def _draw(self, X: Any, rng: np.random.RandomState) -> None:
        self.kernel_grid_ = np.linspace(0, 2, _GRID_POINTS)
        self.kernel_values_ = self._kernel_values(self.kernel_grid_)
        weights = _trapezoid_weights(self.kernel_grid_)
        if self.distances == "sample":
            weights = _UNIFORM_SHARE * weights + (1 - _UNIFORM_SHARE) * self._distance_weights(X, rng)
        density = fit_radial_density(
            self.kernel_grid_,
            self.kernel_values_,
            weights,
            X.shape[1],
            n_gaussians=self.n_gaussians,
            n_starts=self.n_starts,
            rng=rng,
        )
        self.coefficients_, self.sigmas_ = density.coefficients, density.sigmas
        self.fitted_values_, self.fit_error_ = density.fitted_values, density.error
        self.radii_, self.masses_ = density.radii, density.masses
        n, self.phases_ = draw_phases(self.phases == "paired", self.n_components, rng)
        radii = density.sample(rng.random_sample(n))
        self.projections_ = Projections.draw(self.directions, radii, X.shape[1], X.dtype, rng)

    def _moments_are_known(self) -> bool:
        """Orthogonal directions depend on each other."""
        return self.directions == "independent"

    def _product_moments(self, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        r"""Return mean and variance of the product of two feature rows over draws of the frequencies.

        With the fitted kernel :math:`\hat K`, the mean is :math:`\hat K(z)`. With random phases the variance
        is :math:`(\hat K(0)^2 + \hat K(0) \hat K(2z) / 2 - \hat K(z)^2) / D`, and with a sine for each cosine
        :math:`(\hat K(0)^2 + \hat K(0) \hat K(2z) - 2 \hat K(z)^2) / D`. The density is held fixed.
        """
        grid = np.linspace(0, 4, _MOMENT_POINTS)
        fitted = CubicSpline(
            grid, spherical_wave(np.multiply.outer(grid, self.radii_), self.n_features_in_) @ self.masses_
        )
        z = np.sqrt(2 - 2 * unit_cosines(X, Y))
        mean, mass = fitted(z), float(self.masses_.sum())
        by_difference = (mass**2 + mass * fitted(2 * z)) / 2 - mean**2
        n_phases = self.phases_.size
        n_pairs = (self.n_components - n_phases) // 2
        phased = by_difference + mass**2 / 2
        return mean, (4 * n_pairs * by_difference + n_phases * phased) / self.n_components**2

    def _kernel_values(self, z: np.ndarray) -> np.ndarray:
        if self.kernel is None:
            return spherical_polynomial(z, self.degree, self.a)
        values = np.asarray(self.kernel(z), dtype=np.float64)
        if values.shape != z.shape or not np.isfinite(values).all():
            raise ValueError(
                f"kernel must map an array of distances in [0, 2] to finite values of its shape {z.shape}; "
                f"got shape {values.shape}{'' if np.isfinite(values).all() else ' with NaN or infinity'}."
            )
        if values[0] <= 0:
            raise ValueError(f"kernel must be positive at distance 0, got {values[0]:g}.")
        return values

    def _distance_weights(self, X: Any, rng: np.random.RandomState) -> np.ndarray:
        """Return the share of sampled pairs of rows nearest to each grid distance."""
        chosen = rng.permutation(X.shape[0])[:_SAMPLE_ROWS]
        rows, zero = unit_rows(X[np.sort(chosen)])
        rows = rows[np.setdiff1d(np.arange(rows.shape[0]), zero)]
        if rows.shape[0] < 2:
            raise ValueError("distances='sample' needs at least two rows that are not zero.")
        products = safe_sparse_dot(rows, rows.T, dense_output=True)
        pairs = products[np.triu_indices(len(products), 1)].astype(np.float64)
        z = np.sqrt(np.clip(2 - 2 * pairs, 0, 4))
        counts = np.bincount(np.rint(z / 2 * (_GRID_POINTS - 1)).astype(int), minlength=_GRID_POINTS)
        return counts / counts.sum()

    def _arrays(self, dtype: np.dtype) -> np.ndarray:
        return self.projections_.astype(dtype)

    def _map_block(self, block: Any, arrays: np.ndarray, out: np.ndarray) -> None:
        # The fitted kernel at distance 0 is the mass of the density: what the mean of cos² must give.
        scale = np.sqrt(2 * self.fitted_values_[0] / self.n_components)
        trigonometric_features(self.projections_, arrays, self.phases_, scale, block, out)


def _trapezoid_weights(grid: np.ndarray) -> np.ndarray:
    weights = np.ones_like(grid)
    weights[[0, -1]] = 0.5
    return weights / weights.sum()
