"""Every name that a suite can give a component: one line makes a new method available everywhere.

A name means, in this order: a component of `COMPONENTS`; ``package.module:Class``, an import path; a public
estimator of scikit-learn, by the name of its class; an entry point of the group `ENTRY_POINTS` of a package.
To find one imports nothing. What a component can do follows from its class: `eigenbench.bench.components`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import eigenbench
from eigenbench.bench.components import KINDS, Component, Kind, folder_of
from eigenbench.datasets.strict_model import near_match

_PEERS = "eigenbench.methods.peers"

#: Kinds of what eigenbench exports, by the beginning of the module below ``eigenbench.methods``.
_FAMILIES: dict[str, Kind] = {
    "embeddings.kernel_features.": "expansion",
    "embeddings.signed_powers": "expansion",
    "embeddings.": "embedding",
    "classifiers.": "classifier",
}
#: Exports that need a feature map, a classifier or a task of their own.
_NOT_OFFERED = ("DoublyStochasticLogistic", "GeometricMeanEnsemble", "OneExampleNearestNeighbour")

#: Kind, module and names of the others, and the optional dependency that they need.
_REGISTERED: tuple[tuple[Any, ...], ...] = (
    ("preprocessing", "sklearn.preprocessing", ("StandardScaler", "Normalizer")),
    ("preprocessing", "eigenbench.methods.preprocessing.table_preprocessor", ("TablePreprocessor",)),
    ("embedding", "sklearn.decomposition", ("PCA", "KernelPCA", "TruncatedSVD")),
    ("embedding", "sklearn.discriminant_analysis", ("LinearDiscriminantAnalysis",)),
    ("embedding", f"{_PEERS}.cross_decomposition", ("LabelPLS", "LabelCCA")),
    ("embedding", f"{_PEERS}.metric_learners", ("LFDA", "NCA", "MMC_Supervised"), "peers"),
    ("embedding", f"{_PEERS}.supervised_umap", ("UMAP",), "rivals"),
    ("expansion", "sklearn.kernel_approximation", ("PolynomialCountSketch", "Nystroem", "RBFSampler")),
    ("expansion", "sklearn.pipeline", ("FeatureUnion",)),
    ("expansion", "sklearn.ensemble", ("RandomTreesEmbedding",)),
    ("classifier", "sklearn.linear_model", ("LogisticRegression",)),
    ("classifier", "sklearn.svm", ("LinearSVC", "SVC")),
    ("classifier", "sklearn.neighbors", ("KNeighborsClassifier",)),
    ("classifier", "sklearn.ensemble", ("HistGradientBoostingClassifier", "RandomForestClassifier")),
    ("classifier", "lightgbm", ("LGBMClassifier",), "rivals"),
    ("classifier", f"{_PEERS}.one_vs_rest", ("OneVsRestLogistic",)),
    ("classifier", f"{_PEERS}.subsampled_svc", ("SubsampledSVC",)),
    ("classifier", f"{_PEERS}.vowpal_wabbit", ("VowpalWabbitOAA", "VowpalWabbitLOMTree"), "peers"),
    ("classifier", f"{_PEERS}.napkinxc_plt", ("NapkinXCPLT",), "peers"),
    ("control", "sklearn.dummy", ("DummyClassifier",)),
    ("control", f"{_PEERS}.bayes_rule", ("BayesRule",)),
)


def _exported() -> Iterator[Component]:
    for name, module in eigenbench._EXPORTS.items():
        below = module.removeprefix("eigenbench.methods.")
        kind = next((kind for start, kind in _FAMILIES.items() if below.startswith(start)), None)
        if kind and name not in _NOT_OFFERED:
            yield Component(name, module, kind)


_FURTHER = (
    Component(name, module, kind, *extra) for kind, module, names, *extra in _REGISTERED for name in names
)
COMPONENTS: dict[str, Component] = {
    item.name: item for item in sorted((*_exported(), *_FURTHER), key=lambda item: KINDS.index(item.kind))
}

#: The group of entry points by which an installed package offers components: ``Name = package.module:Class``.
ENTRY_POINTS = "eigenbench.components"

_IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_CLASS_NAME = re.compile(r"[A-Z]\w*")

#: Folders and modules of scikit-learn whose classes are no parts of pipelines, or not for users.
_NOT_SEARCHED = ("tests", "externals", "utils", "experimental", "datasets", "metrics", "base", "conftest")


def find_component(name: str, folder: Path | None = None, kind: Kind | None = None) -> Component:
    """Look a component up by what a suite calls it; see the module's documentation.

    ``folder``, the suite's, is where the module of an import path may lie if it is not installed. Its
    ``kind`` is None unless it is registered: its class says what it is. The ValueError gives the near match
    and what else can be written, of one ``kind`` where that is given.
    """
    found = COMPONENTS.get(name) or _unregistered(name)
    if not found:
        known = [item.name for item in COMPONENTS.values() if kind in (None, item.kind)]
        close = near_match(name, [*known, *sklearn_estimators()])
        raise ValueError(
            f"unknown {kind or 'component'} {name!r}.{close} Known: {', '.join(known)}, scikit-learn's "
            "classes, and import paths, package.module:Class"
        )
    return replace(found, folder=folder_of(found.module, folder)) if _IMPORT_PATH.fullmatch(name) else found


class _Names:
    """All names that a component can have, as a container."""

    def __contains__(self, name: Any) -> bool:
        return isinstance(name, str) and (name in COMPONENTS or _unregistered(name) is not None)


#: Contains every name that `find_component` finds.
NAMES = _Names()


def why_not_imported(module: str, folder: Path | None, error: Exception) -> str:
    """Return why a module of the user's own cannot be imported, perhaps beside a suite, and a remedy."""
    top = module.partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or error.name != top:
        return f"importing {module} fails: {type(error).__name__}: {error}"
    if folder is None:
        return f"there is no module {top!r}: install its package."
    close = near_match(top, [path.stem for path in folder.glob("*.py")])
    beside = f"or put {top}.py or a folder {top} into {folder}"
    return f"there is no module {top!r}: install its package, {beside}.{close}"


@cache
def _unregistered(name: str) -> Component | None:
    if _IMPORT_PATH.fullmatch(name):
        module, _, attribute = name.partition(":")
        return Component(name, module, attribute=attribute, own=True)
    if not _CLASS_NAME.fullmatch(name):
        return None
    if name in sklearn_estimators():
        return Component(name, sklearn_estimators()[name])
    return offered_components().get(name)


@cache
def offered_components() -> dict[str, Component]:
    """Return the components that installed packages offer by entry points, by name."""
    return {
        point.name: Component(point.name, point.module, attribute=point.attr, own=True)
        for point in entry_points(group=ENTRY_POINTS)
        if _CLASS_NAME.fullmatch(point.name) and point.attr
    }


@cache
def sklearn_estimators() -> dict[str, str]:
    """Return the public classes of scikit-learn and their modules, read from its source alone."""
    spec = find_spec("sklearn")
    assert spec is not None
    assert spec.origin is not None
    found: dict[str, str] = {}
    for path in sorted(Path(spec.origin).parent.iterdir()):
        source = path / "__init__.py" if path.is_dir() else path
        if path.stem.startswith("_") or path.stem in _NOT_SEARCHED or source.suffix != ".py":
            continue
        for name in _public_names(source) if source.is_file() else ():
            if _CLASS_NAME.fullmatch(name):
                found.setdefault(name, f"sklearn.{path.stem}")
    return found


def _public_names(source: Path) -> list[str]:
    """Return the texts in a module's ``__all__``, and the classes that it defines."""
    names = []
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            constants = [item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant)]
            names += [value for value in constants if isinstance(value, str)]
    return names
