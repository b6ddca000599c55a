"""Uniform manifold approximation and projection of the package umap-learn, to compare with.

umap-learn 0.5 keeps compiled functions in a fitted estimator, which no model file holds; the class here
leaves them out of its state and finds them again by their names. What is learned, and how, is the package's
own.
"""

from __future__ import annotations

from typing import Any

import umap
from numba.core.dispatcher import Dispatcher
from pynndescent import NNDescent


class UMAP(umap.UMAP):
    """UMAP (McInnes, Healy and Melville 2018), supervised where labels are given, see ``umap.UMAP``.

    A model of 4,096 rows or more cannot be saved: it finds neighbours by an index of compiled functions.
    """

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if any(isinstance(value, NNDescent) for value in state.values()):
            raise TypeError("UMAP of 4,096 rows or more holds compiled functions and cannot be saved")
        return {name: value for name, value in state.items() if not isinstance(value, Dispatcher)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "embedding_"):
            self._validate_parameters()
