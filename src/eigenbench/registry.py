"""Every component that a suite file can name: one line makes a new method available everywhere.

Only names and import paths live here, so reading the registry imports no numerics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Literal

Kind = Literal["preprocessing", "embedding", "expansion", "classifier"]


class MissingExtraError(ImportError):
    """A component needs a package that is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Component:
    """A scikit-learn estimator that suites refer to by ``name``.

    Attributes
    ----------
    name : str
        The class name, as written in suite files.
    module : str
        The module that defines the class.
    kind : {"preprocessing", "embedding", "expansion", "classifier"}
        The role in a pipeline.
    summary : str
        One line for ``eigenbench list methods``.
    seeded : bool or callable
        Whether the result depends on its ``random_state``; a callable decides from the parameters.
    uses_moments : bool
        Whether it has ``fit_moments``, so that one pass over the data serves every such method.
    streams : bool
        For classifiers: whether it takes ``feature_map`` and so never needs all features in memory.
    extra : str or None
        The optional dependency, ``pip install eigenbench[extra]``, that a peer's component needs.
    """

    name: str
    module: str
    kind: Kind
    summary: str
    seeded: bool | Callable[[dict[str, Any]], bool] = False
    uses_moments: bool = False
    streams: bool = False
    extra: str | None = None

    def draws(self, params: dict[str, Any]) -> bool:
        """Tell whether, with these parameters, its own ``random_state`` changes the result."""
        return self.seeded(params) if callable(self.seeded) else self.seeded

    def is_seeded(self, params: dict[str, Any]) -> bool:
        """Tell whether, with these parameters, the seed changes the result, its own or that of a part."""
        return self.draws(params) or any(
            component(name).draws(inner) for name, inner in nested_steps(list(params.values()))
        )

    def load(self) -> type:
        """Import and return the estimator class.

        Raises
        ------
        MissingExtraError
            If it belongs to a package that is not installed.
        """
        try:
            module = import_module(self.module)
        except ImportError as error:
            if self.extra is None:
                raise
            raise MissingExtraError(
                f"{self.name} needs a package that is not installed ({error}): "
                f"pip install 'eigenbench[{self.extra}]'"
            ) from error
        return getattr(module, self.name)


def _randomized_solver(params: dict[str, Any]) -> bool:
    return params.get("svd_solver", "auto") in ("auto", "randomized", "arpack")


def _random_pairs(params: dict[str, Any]) -> bool:
    return params.get("pairs", "all") not in ("all", "nearest")


COMPONENTS: dict[str, Component] = {
    component.name: component
    for component in (
        Component("StandardScaler", "sklearn.preprocessing", "preprocessing", "zero mean, unit variance"),
        Component(
            "SignedPowers", "eigenbench.embeddings.signed_powers", "expansion", "max(0, ±z)^p, several p"
        ),
        Component(
            "RandomDirections",
            "eigenbench.embeddings.random_directions",
            "embedding",
            "projections on random unit directions",
            seeded=True,
        ),
        Component(
            "PCA", "sklearn.decomposition", "embedding", "principal components", seeded=_randomized_solver
        ),
        Component(
            "GEM",
            "eigenbench.embeddings.discriminants.gem",
            "embedding",
            "generalized eigenvectors of class pairs",
            seeded=_random_pairs,
            uses_moments=True,
        ),
        Component(
            "ContractedGEM",
            "eigenbench.embeddings.discriminants.contracted_gem",
            "embedding",
            "GEM for continuous and vector targets",
        ),
        Component(
            "NeighborhoodGEM",
            "eigenbench.embeddings.discriminants.neighborhood_gem",
            "embedding",
            "each class under its nearest classes together",
            uses_moments=True,
        ),
        Component(
            "SubclassGEM",
            "eigenbench.embeddings.discriminants.subclass_gem",
            "embedding",
            "parts of each class over each other class",
            seeded=True,
        ),
        Component(
            "FisherLDA",
            "eigenbench.embeddings.discriminants.fisher_lda",
            "embedding",
            "class means against the spread within classes",
            uses_moments=True,
        ),
        Component(
            "SIR",
            "eigenbench.embeddings.discriminants.sir",
            "embedding",
            "class means against the whole covariance",
        ),
        Component(
            "OrientedPCA",
            "eigenbench.embeddings.discriminants.oriented_pca",
            "embedding",
            "signal against declared noise",
            uses_moments=True,
        ),
        Component(
            "PerClassPCA",
            "eigenbench.embeddings.discriminants.per_class_pca",
            "embedding",
            "principal components of each class",
            uses_moments=True,
        ),
        Component(
            "VCA",
            "eigenbench.embeddings.discriminants.vca",
            "embedding",
            "directions along which the data vanish",
            uses_moments=True,
        ),
        Component(
            "KernelPCA",
            "sklearn.decomposition",
            "embedding",
            "principal components in a kernel's feature space",
            seeded=True,
        ),
        Component(
            "LinearDiscriminantAnalysis",
            "sklearn.discriminant_analysis",
            "embedding",
            "Fisher's discriminants",
        ),
        Component(
            "HyperbolicPCA",
            "eigenbench.embeddings.constraints.hyperbolic_pca",
            "embedding",
            "keeps equal labels near and different labels far, linear or by a kernel",
            seeded=True,
        ),
        Component(
            "TemporalHyperbolicPCA",
            "eigenbench.embeddings.constraints.temporal_hyperbolic_pca",
            "embedding",
            "the same without labels: what is near in time is equal",
            seeded=True,
        ),
        Component(
            "LFDA",
            "eigenbench.peers.metric_learners",
            "embedding",
            "metric-learn's local Fisher discriminants",
            extra="peers",
        ),
        Component(
            "NCA",
            "eigenbench.peers.metric_learners",
            "embedding",
            "metric-learn's neighbourhood components",
            seeded=True,
            extra="peers",
        ),
        Component(
            "MMC_Supervised",
            "eigenbench.peers.metric_learners",
            "embedding",
            "metric-learn's Mahalanobis metric for clustering",
            seeded=True,
            extra="peers",
        ),
        Component(
            "SphericalRandomFeatures",
            "eigenbench.embeddings.kernel_features.spherical",
            "expansion",
            "Fourier features of a kernel fitted on the sphere",
            seeded=True,
        ),
        Component(
            "SphericalHermiteFeatures",
            "eigenbench.embeddings.kernel_features.spherical_hermite",
            "expansion",
            "unbiased Hermite features of the polynomial kernel on the sphere",
            seeded=True,
        ),
        Component(
            "RandomMaclaurin",
            "eigenbench.embeddings.kernel_features.random_maclaurin",
            "expansion",
            "products of random signs for the powers of the inner product",
            seeded=True,
        ),
        Component(
            "TensorSketch",
            "eigenbench.embeddings.kernel_features.tensor_sketch",
            "expansion",
            "count sketches multiplied in the Fourier domain",
            seeded=True,
        ),
        Component(
            "CRAFT",
            "eigenbench.embeddings.kernel_features.craft",
            "expansion",
            "a wide random map and a projection",
            seeded=True,
        ),
        Component(
            "RandomFourierFeatures",
            "eigenbench.embeddings.kernel_features.random_fourier",
            "expansion",
            "Fourier features of the Gaussian, Laplacian and Matérn kernels",
            seeded=True,
        ),
        Component(
            "PolynomialCountSketch",
            "sklearn.kernel_approximation",
            "expansion",
            "scikit-learn's Tensor Sketch",
            seeded=True,
        ),
        Component(
            "FeatureUnion",
            "sklearn.pipeline",
            "expansion",
            "scikit-learn's union of features, of pipelines side by side",
        ),
        Component("Normalizer", "sklearn.preprocessing", "preprocessing", "rows scaled to unit length"),
        Component(
            "CalibratedLeastSquares",
            "eigenbench.classifiers.calibrated_least_squares",
            "classifier",
            "least-squares rounds with a polynomial link",
            streams=True,
        ),
        Component(
            "SecondOrderLogistic",
            "eigenbench.classifiers.second_order_logistic",
            "classifier",
            "multinomial logistic, L-BFGS on whitened features",
            seeded=True,
            streams=True,
        ),
        Component(
            "StochasticLogistic",
            "eigenbench.classifiers.stochastic_logistic",
            "classifier",
            "multinomial logistic, preconditioned stochastic steps",
            seeded=True,
            streams=True,
        ),
        Component(
            "Rembrandt",
            "eigenbench.embeddings.labels.rembrandt",
            "embedding",
            "label embedding of rank-constrained least squares",
            seeded=True,
            uses_moments=True,
        ),
        Component(
            "PLST",
            "eigenbench.embeddings.labels.plst",
            "embedding",
            "label embedding by the principal components of the labels",
            seeded=True,
        ),
        Component(
            "CompressedSensing",
            "eigenbench.embeddings.labels.compressed_sensing",
            "embedding",
            "random Gaussian label embedding",
            seeded=True,
        ),
        Component(
            "TruncatedSVD",
            "sklearn.decomposition",
            "embedding",
            "principal components of uncentred, also sparse, data",
            seeded=True,
        ),
        Component(
            "LabelEmbeddingClassifier",
            "eigenbench.classifiers.label_embedding_classifier",
            "classifier",
            "predicts an embedding and decodes it by logistic regression",
            seeded=True,
        ),
        Component("LogisticRegression", "sklearn.linear_model", "classifier", "scikit-learn's multinomial"),
        Component("LinearSVC", "sklearn.svm", "classifier", "scikit-learn's linear SVM", seeded=True),
        Component(
            "OneVsRestLogistic",
            "eigenbench.peers.one_vs_rest",
            "classifier",
            "scikit-learn's logistic regression for each label on its own",
        ),
        Component(
            "SubsampledSVC",
            "eigenbench.peers.subsampled_svc",
            "classifier",
            "scikit-learn's SVM with the Gaussian kernel, on a subsample",
            seeded=True,
        ),
        Component(
            "VowpalWabbitOAA",
            "eigenbench.peers.vowpal_wabbit",
            "classifier",
            "Vowpal Wabbit's one against all",
            seeded=True,
            extra="peers",
        ),
        Component(
            "VowpalWabbitLOMTree",
            "eigenbench.peers.vowpal_wabbit",
            "classifier",
            "Vowpal Wabbit's tree of logarithmic depth",
            seeded=True,
            extra="peers",
        ),
        Component(
            "NapkinXCPLT",
            "eigenbench.peers.napkinxc_plt",
            "classifier",
            "napkinXC's probabilistic label tree",
            seeded=True,
            extra="peers",
        ),
    )
}

#: The feature recipes that ``methods: all`` expands to: every embedding in a form that a linear
#: classifier can use. Each step is a component name, or a pair of a name and its parameters.
RECIPES: dict[str, tuple[str | tuple[str, dict[str, Any]], ...]] = {
    "identity": (),
    "random": (("RandomDirections", {"n_components": 100}), "SignedPowers"),
    "pca": (("PCA", {"n_components": 0.95, "svd_solver": "full"}), "SignedPowers"),
    "gem": (("GEM", {"top": 3}), "SignedPowers"),
    "deep_gem": (("GEM", {"top": 3}), "SignedPowers", ("GEM", {"top": 2}), "SignedPowers"),
}


def as_step(value: Any) -> tuple[str, dict[str, Any]] | None:
    """Return name and parameters of a parameter value that is a component, ``{Name: {parameter: value}}``."""
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in COMPONENTS:
        ((name, params),) = value.items()
        return name, params or {}
    return None


def nested_steps(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and parameters of every component in a parameter value, at any depth of lists."""
    step = as_step(value)
    if step is not None:
        yield step
        value = list(step[1].values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from nested_steps(item)


def near_match(name: str, known: list[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name, or an empty string."""
    folded = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), list(folded), n=1, cutoff=0.5)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def component(name: str) -> Component:
    """Look a component up by name.

    Raises
    ------
    KeyError
        If no component has that name; the message gives the near match and every known name.
    """
    if name not in COMPONENTS:
        known = ", ".join(COMPONENTS)
        raise KeyError(f"unknown method {name!r}.{near_match(name, list(COMPONENTS))} Known: {known}")
    return COMPONENTS[name]
