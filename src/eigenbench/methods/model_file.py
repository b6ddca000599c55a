"""Fitted pipelines as skops files: readable anywhere, and never unpickled."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import skops.io

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


class ModelFileError(ValueError):
    """A model file is damaged, or holds types that eigenbench does not trust."""


def save_model(path: Path, model: Any) -> None:
    """Write a fitted estimator so that ``path`` is either as it was or the whole new file.

    Parameters
    ----------
    path : Path
        The file to write, usually ``*.skops``.
    model : estimator
        Any fitted scikit-learn or eigenbench estimator.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    with replacing_file(path) as temporary:
        skops.io.dump(model, temporary)


def load_model(path: Path, trusted: Iterable[str] = ()) -> Any:
    """Read an estimator written by `save_model`.

    Only types that skops trusts by itself (most of scikit-learn, NumPy and SciPy), those of `_TRUSTED_TYPES`
    and classes defined in eigenbench's embeddings, classifiers, peers, preprocessing and linear algebra are
    built.

    Parameters
    ----------
    path : Path
        The file.
    trusted : iterable of str
        Further packages, and modules that are in none, whose classes may be built. Their code runs.

    Raises
    ------
    ModelFileError
        Naming the file and the types that are not trusted, or what is damaged; also for files of 0.1.0.
    """
    try:
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
        return skops.io.load(path, trusted=found)
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
