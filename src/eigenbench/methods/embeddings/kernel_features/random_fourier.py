"""Random Fourier features of the Gaussian, Laplacian and Matérn kernels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from eigenbench.methods.embeddings.kernel_features.frequencies import (
    Projections,
    draw_phases,
    trigonometric_features,
)
from eigenbench.methods.embeddings.kernel_features.random_map import RandomMap
from eigenbench.methods.embeddings.row_transformer import median_distance
from eigenbench.methods.parameter_constraints import POSITIVE, StrOptions


class RandomFourierFeatures(RandomMap):
    r"""Approximate a shift-invariant kernel by cosines and sines of random projections.

    With frequencies w drawn from the Fourier transform of the kernel,
    :math:`K(x - y) = E[\cos(w^\top (x - y))]` [1]_. A frequency gives a cosine and a sine, which has a
    smaller variance for these kernels than one cosine with a random phase [2]_; the last frequency of an odd
    number of features gives one cosine with a random phase.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "matern"}, default="gaussian"
        exp(−‖x − y‖²/(2ℓ²)); exp(−‖x − y‖₁/ℓ); or the Matérn kernel of smoothness ν and length ℓ.
    length_scale : float or "median", default="median"
        The length ℓ > 0 in units of the inputs, or the median distance (1-norm for "laplacian", else
        2-norm) between up to 1,000 of the rows given to ``fit``; that of rows that differ, where most do not.
    length_factor : float, default=1.0
        Multiplies ℓ: what to tune beside "median".
    nu : float, default=1.5
        Smoothness ν > 0 of the Matérn kernel; ½ is exp(−‖x − y‖/ℓ).
    n_components : int, default=512
        Number of features D.
    orthogonal : bool, default=False
        Make the frequencies orthogonal in blocks of d and leave their lengths as they are [3]_: smaller
        variance, still unbiased. Not for "laplacian", whose frequencies are not uniform in direction.
    random_state : int, RandomState instance or None, default=None
        Seed of the frequencies and of the sampled rows.

    Attributes
    ----------
    length_scale_ : float
        The length ℓ used.
    projections_ : Projections
        The frequencies.
    phases_ : ndarray of shape (D mod 2,)
        The random phase of an odd number of features.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    A transform costs n·d·D flops and the memory of its result plus one block; each row is mapped alone, so
    data may come in parts of any size. Frequencies take d·D/2 values in the type of the rows given to
    ``fit``.

    References
    ----------
    .. [1] A. Rahimi and B. Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.
    .. [2] D. J. Sutherland and J. Schneider, "On the Error of Random Fourier Features", UAI 2015.
    .. [3] F. X. Yu et al., "Orthogonal Random Features", NIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench.methods.embeddings.kernel_features.random_fourier import RandomFourierFeatures
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> rff = RandomFourierFeatures(length_scale=1.0, n_components=10_000, random_state=0)
    >>> F = rff.fit_transform(X)
    >>> bool(abs(F[0] @ F[1] - np.exp(-0.5)) < 0.03)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RandomMap._parameter_constraints,
        "kernel": [StrOptions({"gaussian", "laplacian", "matern"})],
        "length_scale": [POSITIVE, StrOptions({"median"})],
        "length_factor": [POSITIVE],
        "nu": [POSITIVE],
        "orthogonal": ["boolean"],
    }

    def __init__(
        self,
        kernel: str = "gaussian",
        *,
        length_scale: float | str = "median",
        length_factor: float = 1.0,
        nu: float = 1.5,
        n_components: int = 512,
        orthogonal: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.length_scale = length_scale
        self.length_factor = length_factor
        self.nu = nu
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.random_state = random_state

    def _draw(self, X: Any, rng: np.random.RandomState) -> None:
        if self.orthogonal and self.kernel == "laplacian":
            raise ValueError(
                "orthogonal=True needs frequencies that are uniform in direction, which those of "
                "kernel='laplacian' are not; kernel='matern' with nu=0.5 is its 2-norm counterpart."
            )
        length = self._median_distance(X, rng) if self.length_scale == "median" else float(self.length_scale)
        self.length_scale_ = length * float(self.length_factor)
        n, self.phases_ = draw_phases(True, self.n_components, rng)
        self.projections_ = self._frequencies(n, X, rng)

    def _frequencies(self, n: int, X: Any, rng: np.random.RandomState) -> Projections:
        width = X.shape[1]
        if self.kernel == "laplacian":
            frequencies = rng.standard_cauchy((width, n)) / self.length_scale_
            return Projections.from_frequencies(frequencies, X.dtype)
        radii = np.sqrt(rng.chisquare(width, size=n)) / self.length_scale_
        if self.kernel == "matern":
            radii *= np.sqrt(2 * self.nu / rng.chisquare(2 * self.nu, size=n))
        directions = "orthogonal" if self.orthogonal else "independent"
        return Projections.draw(directions, radii, width, X.dtype, rng)

    def _median_distance(self, X: Any, rng: np.random.RandomState) -> float:
        metric = "cityblock" if self.kernel == "laplacian" else "euclidean"
        if not (median := median_distance(X, rng, metric)):
            raise ValueError(
                f"length_scale='median': all sampled rows (n_samples = {X.shape[0]}) are alike. "
                "Give a length_scale."
            )
        return median

    def _arrays(self, dtype: np.dtype) -> np.ndarray:
        return self.projections_.astype(dtype)

    def _map_block(self, block: Any, arrays: np.ndarray, out: np.ndarray) -> None:
        scale = np.sqrt(2 / self.n_components)
        trigonometric_features(self.projections_, arrays, self.phases_, scale, block, out)
