"""Tensor Sketch: count sketches multiplied in the Fourier domain."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import fft, sparse

from eigenbench.methods.embeddings.kernel_features.random_map import (
    BLOCK_BYTES,
    COMPLEX_SIGNS,
    REAL_SIGNS,
    PolynomialKernelMap,
    ProductMomentsMixin,
    sketch_width,
    unit_cosines,
    unit_squared_products,
    write_parts,
)


class TensorSketch(ProductMomentsMixin, PolynomialKernelMap):
    r"""Approximate the polynomial kernel on the sphere by Tensor Sketch.

    With the constant coordinate √q, q = a²/2 − 1, the kernel :math:`\alpha (q + x^\top y)^p` is a p-th power
    of an inner product. The p-fold tensor product of the row with itself is count-sketched without being
    formed: the circular convolution of p independent count sketches of the row is such a sketch [1]_. The
    inner product of two feature rows is an unbiased estimate of the kernel; its variance falls as 1/D.

    Parameters
    ----------
    degree, a, rows
        As for :class:`~eigenbench.RandomMaclaurin`.
    n_components : int, default=512
        Number of features D, any number; products of small primes make the Fourier transform fast.
    complex : bool, default=False
        Draw signs from 1, −1, i and −i, and take the real and imaginary parts of ⌊D/2⌋ complex features [2]_;
        of an odd D the last feature is zero. The error falls for small p.
    random_state : int, RandomState instance or None, default=None
        Seed of the hash functions.

    Attributes
    ----------
    buckets_ : ndarray of shape (p, d + 1)
        The feature that each coordinate is added to, for each of the p sketches; the last coordinate is
        the constant.
    signs_ : ndarray of shape (p, d + 1), int8 or complex64
        The sign with which it is added.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    ``fit`` reads only the width of X. A transform costs O(np(d + D log D)); all transforms are real and in
    the type of X, and the temporaries of a block (sketch, its spectrum and the product) stay in the cache.

    References
    ----------
    .. [1] N. Pham and R. Pagh, "Fast and Scalable Polynomial Kernels via Explicit Feature Maps", KDD 2013,
       Algorithm 1.
    .. [2] J. Wacker, R. Ohana and M. Filippone, "Complex-to-Real Sketches for Tensor Products with
       Applications to the Polynomial Kernel", 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench.methods.embeddings.kernel_features.tensor_sketch import TensorSketch
    >>> TensorSketch(3, n_components=64, random_state=0).fit_transform(np.eye(4)).shape
    (4, 64)
    """

    _shape_suffices: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PolynomialKernelMap._parameter_constraints,
        "complex": ["boolean"],
    }

    def __init__(
        self,
        degree: int = 7,
        a: float = 4.0,
        n_components: int = 512,
        *,
        complex: bool = False,
        rows: str = "normalize",
        random_state: Any = None,
    ) -> None:
        super().__init__(degree, a, n_components, rows=rows, random_state=random_state)
        self.complex = complex

    def _draw(self, X: Any, rng: np.random.RandomState) -> None:
        shape = (self.degree, X.shape[1] + 1)
        self.buckets_ = rng.randint(sketch_width(self.n_components, self.complex), size=shape)
        self.signs_ = rng.choice(COMPLEX_SIGNS if self.complex else REAL_SIGNS, size=shape)

    def _moments_are_known(self) -> bool:
        return not self.complex

    def _bytes_per_row(self, itemsize: int) -> int:
        # The sketch, two spectra and the inputs: with a quarter of the block size they fit an L2 cache.
        # Transforms of a multiple of 8 rows fill vector registers.
        fitting = BLOCK_BYTES // (4 * (3 * self.n_components + self.n_features_in_) * itemsize)
        return BLOCK_BYTES // max(8, fitting - fitting % 8)

    def _map_block(self, block: Any, arrays: list[tuple[Any, int, Any]], out: np.ndarray) -> None:
        # Rows are columns here: the sketch of a block is then one sparse product made of long vector sums.
        columns = block.T if sparse.issparse(block) else np.ascontiguousarray(block.T)
        spectrum = None
        for sketch, bucket, bias in arrays:
            counts = sketch @ columns
            counts = counts.toarray() if sparse.issparse(counts) else counts
            counts[bucket] += bias
            transformed = (fft.fft if self.complex else fft.rfft)(counts, axis=0, overwrite_x=True)
            if spectrum is None:
                spectrum = transformed
            else:
                spectrum *= transformed
        if self.complex:
            write_parts(fft.ifft(spectrum, axis=0, overwrite_x=True).T, out)
        else:
            out[:] = fft.irfft(spectrum, n=self.n_components, axis=0, overwrite_x=True).T

    def _product_moments(self, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        r"""Return mean and variance of the product of two feature rows over draws of the hash functions.

        The mean is the kernel. With X, Y the extended rows at unit length, t = XᵀY and s = Σ X_i² Y_i²,
        writing collisions as sums of characters of the integers modulo D gives the second moment

        .. math:: D^{-2} \left[e (1 + 2t^2 - 2s)^p + (D - e) \left((1 + t^2 - s)^p + (2t^2 - s)^p\right)
                  + (D^2 - 2D + e)\, t^{2p}\right],

        e = 2 for even D and 1 for odd D.
        """
        q = self.a**2 / 2 - 1
        squared = ((unit_cosines(X, Y) + q) / (q + 1)) ** 2
        shared = (unit_squared_products(X, Y) + q**2) / (q + 1) ** 2
        D, p = self.n_components, self.degree
        even = 2 if D % 2 == 0 else 1
        both = even * (1 + 2 * squared - 2 * shared) ** p
        either = (D - even) * ((1 + squared - shared) ** p + (2 * squared - shared) ** p)
        # The last term less the square of the mean, without their cancellation.
        return np.sqrt(squared) ** p, (both + either - (2 * D - even) * squared**p) / D**2

    def _arrays(self, dtype: np.dtype) -> list[tuple[Any, int, Any]]:
        """Return each count sketch as a sparse matrix of shape (D, d), and the bucket and value of √q."""
        width = self.n_features_in_
        q = self.a**2 / 2 - 1
        dtype = np.result_type(dtype, np.complex64) if self.complex else dtype
        n_buckets = sketch_width(self.n_components, self.complex)
        # Scaling the extended row to unit length spreads α over the sketches: nothing overflows.
        scale = 1 / np.sqrt(q + 1)
        sketches = []
        for buckets, signs in zip(self.buckets_, self.signs_, strict=True):
            values = (signs[:width] * scale).astype(dtype)
            entries = (values, buckets[:width], np.arange(width + 1))
            sketch = sparse.csc_array(entries, shape=(n_buckets, width))
            sketches.append((sketch, int(buckets[width]), dtype.type(signs[width] * scale * np.sqrt(q))))
        return sketches
