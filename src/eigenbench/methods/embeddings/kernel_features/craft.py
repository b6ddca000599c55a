"""CRAFT: compact random feature maps, up to many features and down again."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from eigenbench.methods.embeddings.kernel_features.frequencies import SubsampledHadamard, next_power_of_two
from eigenbench.methods.embeddings.kernel_features.random_maclaurin import RandomMaclaurin
from eigenbench.methods.embeddings.kernel_features.random_map import PolynomialKernelMap
from eigenbench.methods.embeddings.kernel_features.tensor_sketch import TensorSketch
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER, StrOptions


class CRAFT(PolynomialKernelMap):
    r"""Approximate the polynomial kernel on the sphere by a wide random map and a projection.

    Random features for a polynomial kernel are many and nearly rank deficient. CRAFT maps rows to E > D
    features by Random Maclaurin or Tensor Sketch and projects them to D by a subsampled randomized Hadamard
    transform [1]_. Both steps are unbiased, so the inner product of two feature rows is an unbiased estimate
    of the kernel :math:`\alpha (q + x^\top y)^p`, q = a²/2 − 1, α = (2/a²)^p.

    Parameters
    ----------
    degree, a, n_components, rows
        As for :class:`~eigenbench.RandomMaclaurin`.
    base : {"maclaurin", "tensor_sketch"}, default="maclaurin"
        The wide map.
    up_components : int or None, default=None
        Width E ≥ D of the wide map; None takes the next power of two of 4D.
    random_state : int, RandomState instance or None, default=None
        Seed of both steps.

    Attributes
    ----------
    up_ : RandomMaclaurin or TensorSketch
        The fitted wide map.
    projection_ : SubsampledHadamard
        The projection.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    A transform costs that of the wide map plus O(nE log E); the wide features exist one block at a time.

    References
    ----------
    .. [1] R. Hamid, Y. Xiao, A. Gittens and D. DeCoste, "Compact Random Feature Maps", ICML 2014,
       Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench.methods.embeddings.kernel_features.craft import CRAFT
    >>> CRAFT(3, n_components=16, random_state=0).fit_transform(np.eye(4)).shape
    (4, 16)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PolynomialKernelMap._parameter_constraints,
        "base": [StrOptions({"maclaurin", "tensor_sketch"})],
        "up_components": [POSITIVE_INTEGER, None],
    }

    def __init__(
        self,
        degree: int = 7,
        a: float = 4.0,
        n_components: int = 512,
        *,
        base: str = "maclaurin",
        up_components: int | None = None,
        rows: str = "normalize",
        random_state: Any = None,
    ) -> None:
        super().__init__(degree, a, n_components, rows=rows, random_state=random_state)
        self.base = base
        self.up_components = up_components

    def _draw(self, X: Any, rng: np.random.RandomState) -> None:
        width = self.up_components or next_power_of_two(4 * self.n_components)
        if width < self.n_components:
            raise ValueError(
                f"up_components={width} is below n_components={self.n_components}: CRAFT projects down."
            )
        wide = RandomMaclaurin if self.base == "maclaurin" else TensorSketch
        self.up_ = wide(self.degree, self.a, width, random_state=rng).fit(X)
        self.projection_ = SubsampledHadamard(width, self.n_components, rng)

    def _bytes_per_row(self, itemsize: int) -> int:
        return self.up_._bytes_per_row(itemsize)

    def _arrays(self, dtype: np.dtype) -> Any:
        return self.up_._arrays(dtype)

    def _map_block(self, block: Any, arrays: Any, out: np.ndarray) -> None:
        wide = np.empty((block.shape[0], self.projection_.n_inputs), dtype=out.dtype)
        self.up_._map_block(block, arrays, wide)
        self.projection_.apply(wide, out=out)
