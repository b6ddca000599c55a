"""Fitted pipelines as skops files: readable anywhere, and never unpickled."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator

from eigenbench.atomic_files import replacing_file

#: Packages whose classes a model may be made of.
_TRUSTED_PACKAGES = (
    "eigenbench.methods.classifiers.",
    "eigenbench.methods.embeddings.",
    "eigenbench.methods.linalg.",
    "eigenbench.methods.peers.",
    "eigenbench.methods.preprocessing.",
    "eigenbench.own_data.table_encoder.",
)

#: Packages of 0.1.0 whose classes have moved into `eigenbench.methods`.
_MOVED_PACKAGES = tuple(
    f"eigenbench.{name}." for name in ("classifiers", "embeddings", "linalg", "peers", "preprocessing")
)

#: Parts of models of scikit-learn and LightGBM that skops does not trust by itself. They are made of arrays
#: and numbers, or, a booster, of the text of its trees.
_TRUSTED_TYPES = frozenset(
    {
        "collections.OrderedDict",
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
        "numpy.dtype",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.multiclass._ConstantPredictor",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.tree._tree.Tree",
    }
)

#: `save_model` compresses nothing, so a file that holds many times its size is none of its.
_LARGEST_EXPANSION, _FREE_BYTES = 4, 2**24


class ModelFileError(ValueError):
    """A model file is damaged, or holds types that eigenbench does not trust."""


#: Packages whose objects may hold trees and sparse arrays without being estimators.
_LOOKED_INTO = ("sklearn.", "eigenbench.")


def save_model(path: Path, model: Any) -> None:
    """Write a fitted estimator so that ``path`` is either as it was or the whole new file."""
    with replacing_file(path) as temporary:
        skops.io.dump(model, temporary)


def load_model(path: Path, trusted: Iterable[str] = ()) -> Any:
    """Read an estimator written by `save_model`.

    Only types that skops trusts by itself (most of scikit-learn, NumPy and SciPy), those of `_TRUSTED_TYPES`
    and classes defined in eigenbench's embeddings, classifiers, peers, preprocessing and linear algebra are
    built. Indices that compiled code would follow unchecked, those of trees and of sparse arrays, are
    checked before the model is returned.

    Parameters
    ----------
    path : Path
        The file.
    trusted : iterable of str
        Further packages, and modules that are in none, whose classes may be built. Their code runs.

    Raises
    ------
    ModelFileError
        Naming the file and the types that are not trusted, or what is damaged; also for files of 0.1.0,
        and for files that hold much more than their own size.
    """
    try:
        _check_size(Path(path))
        found = skops.io.get_untrusted_types(file=path)
        if old := [name for name in found if name.startswith(_MOVED_PACKAGES)]:
            raise ModelFileError(
                f"{path}: saved by eigenbench 0.1.0, whose type {old[0]} has moved: load it with"
                " eigenbench==0.1.0, or fit the model again"
            )
        packages = (*_TRUSTED_PACKAGES, *(f"{name}." for name in trusted))
        refused = sorted(name for name in found if not _is_trusted(name, packages))
        if refused:
            raise ModelFileError(
                f"{path}: refused, it holds the types {', '.join(refused)}: name their packages as trusted"
                " if you trust the file"
            )
        model = skops.io.load(path, trusted=found)
        _check_indices(path, model)
        return model
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"{path}: not a readable skops model ({error})") from error


def _is_trusted(name: str, packages: tuple[str, ...]) -> bool:
    """Return whether a name is that of a class, in the module that defines it, in a trusted package."""
    if name in _TRUSTED_TYPES:
        return True
    module, _, attribute = name.rpartition(".")
    if not f"{module}.".startswith(packages):
        return False
    found = getattr(import_module(module), attribute, None)
    return isinstance(found, type) and found.__module__ == module


def _check_size(path: Path) -> None:
    """Raise where a file would expand to much more than its own size."""
    with zipfile.ZipFile(path) as archive:
        held = sum(member.file_size for member in archive.infolist())
    if held > _LARGEST_EXPANSION * path.stat().st_size + _FREE_BYTES:
        raise ModelFileError(
            f"{path}: refused, its {path.stat().st_size:,} bytes expand to {held:,}: get the file again, as"
            " eigenbench wrote it"
        )


def _check_indices(path: Path, model: Any) -> None:
    """Raise where an index in a model points outside its array, or a tree back to an earlier node."""
    waiting: list[tuple[Any, int]] = [(model, 0)]
    seen: dict[int, Any] = {}
    while waiting:
        part, n_features = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | type | None):
            continue
        seen[id(part)] = part
        if isinstance(part, BaseEstimator):
            n_features = getattr(part, "n_features_in_", n_features)
        kind = type(part).__name__
        if kind == "Tree":
            sound = _sound_nodes(
                part.children_left, part.children_right, part.feature, part.children_left == -1, n_features
            )
        elif kind == "TreePredictor":
            nodes = part.nodes
            places = nodes["bitset_idx"][nodes["is_categorical"] != 0]
            sound = _sound_nodes(
                nodes["left"], nodes["right"], nodes["feature_idx"], nodes["is_leaf"] != 0, n_features
            ) and _inside(places, 0, min(len(part.raw_left_cat_bitsets), len(part.binned_left_cat_bitsets)))
        elif kind == "KDTree":
            sound = _sound_neighbour_tree(*map(np.asarray, part.get_arrays()))
        else:
            sound = True
        if sparse.issparse(part) and part.format in ("csr", "csc", "bsr"):
            part.check_format(full_check=True)
        if not sound:
            raise ModelFileError(f"{path}: refused, a {kind} in it has an index out of bounds: fit it again")
        if isinstance(part, dict):
            inner = [*part, *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            inner = list(part)
        elif isinstance(part, np.ndarray):
            inner = part.ravel().tolist() if part.dtype.hasobject else []
        elif isinstance(part, BaseEstimator) or type(part).__module__.startswith(_LOOKED_INTO):
            inner = list(getattr(part, "__dict__", {}).values())
        else:
            inner = []
        waiting += [(item, n_features) for item in inner]


def _sound_nodes(
    left: np.ndarray, right: np.ndarray, feature: np.ndarray, leaf: np.ndarray, n_features: int
) -> bool:
    """Return whether all children stand after their parents in the tree, and split by features that exist."""
    places, split = np.arange(len(left)), ~leaf
    return (
        len(places) > 0
        and all(
            _inside(side[split].astype(np.int64), places[split] + 1, len(places)) for side in (left, right)
        )
        and _inside(feature[split], 0, n_features)
    )


def _sound_neighbour_tree(rows: np.ndarray, order: np.ndarray, nodes: np.ndarray, bounds: np.ndarray) -> bool:
    """Return whether the nodes of a tree of neighbours name rows and children that exist."""
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    return (
        _inside(order, 0, len(rows))
        and _inside(nodes["idx_start"], 0, nodes["idx_end"] + 1)
        and _inside(nodes["idx_end"], 0, len(order) + 1)
        and _inside(2 * inner + 2, 0, len(nodes))
        and bounds.shape == (2, len(nodes), rows.shape[1])
    )


def _inside(values: np.ndarray, low: Any, end: Any) -> bool:
    return bool(np.all((values >= low) & (values < end)))
