"""Every component that a suite file can name: one line makes a new method available everywhere.

Only names and import paths live here, so reading the registry imports no numerics. What a component can do
follows from its class, see `eigenbench.bench.capabilities`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from eigenbench.bench.component_loading import folder_of, load_component

Kind = Literal["preprocessing", "embedding", "expansion", "classifier"]


@dataclass(frozen=True)
class Component:
    """A scikit-learn estimator that suites refer to by ``name``.

    Attributes
    ----------
    name : str
        The class name, as written in suite files.
    module : str
        The module that defines the class.
    kind : {"preprocessing", "embedding", "expansion", "classifier"} or None
        The role in a pipeline; None where the class says it.
    summary : str
        One line for ``eigenbench list methods``.
    extra : str or None
        The optional dependency, ``pip install eigenbench[extra]``, that a peer's component needs.
    attribute : str
        The class, where it has another name.
    own : bool
        Whether it is code of the user's or of a further package, which is tried before it is used.
    folder : str or None
        Where the module lies if it is not installed.
    """

    name: str
    module: str
    kind: Kind | None
    summary: str
    extra: str | None = None
    attribute: str = ""
    own: bool = False
    folder: str | None = None

    def load(self) -> type:
        """Import and return the estimator class.

        Raises
        ------
        MissingExtraError
            If it belongs to a package that is not installed.
        """
        return load_component(self.attribute or self.name, self.module, self.extra, self.folder)

    def beside(self, folder: Path | None) -> Component:
        """Return it with a folder as its own, if its module lies there."""
        return replace(self, folder=folder_of(self.module, folder))


COMPONENTS: dict[str, Component] = {
    component.name: component
    for component in (
        Component("StandardScaler", "sklearn.preprocessing", "preprocessing", "zero mean, unit variance"),
        Component(
            "TablePreprocessor",
            "eigenbench.methods.preprocessing.table_preprocessor",
            "preprocessing",
            "missing values imputed, categories encoded, columns scaled",
        ),
        Component(
            "SignedPowers",
            "eigenbench.methods.embeddings.signed_powers",
            "expansion",
            "max(0, ±z)^p, several p",
        ),
        Component(
            "RandomDirections",
            "eigenbench.methods.embeddings.random_directions",
            "embedding",
            "projections on random unit directions",
        ),
        Component("PCA", "sklearn.decomposition", "embedding", "principal components"),
        Component(
            "GEM",
            "eigenbench.methods.embeddings.discriminants.gem",
            "embedding",
            "generalized eigenvectors of class pairs",
        ),
        Component(
            "ContractedGEM",
            "eigenbench.methods.embeddings.discriminants.contracted_gem",
            "embedding",
            "GEM for continuous and vector targets",
        ),
        Component(
            "NeighborhoodGEM",
            "eigenbench.methods.embeddings.discriminants.neighborhood_gem",
            "embedding",
            "each class under its nearest classes together",
        ),
        Component(
            "SubclassGEM",
            "eigenbench.methods.embeddings.discriminants.subclass_gem",
            "embedding",
            "parts of each class over each other class",
        ),
        Component(
            "FisherLDA",
            "eigenbench.methods.embeddings.discriminants.fisher_lda",
            "embedding",
            "class means against the spread within classes",
        ),
        Component(
            "SIR",
            "eigenbench.methods.embeddings.discriminants.sir",
            "embedding",
            "class means against the whole covariance",
        ),
        Component(
            "OrientedPCA",
            "eigenbench.methods.embeddings.discriminants.oriented_pca",
            "embedding",
            "signal against declared noise",
        ),
        Component(
            "PerClassPCA",
            "eigenbench.methods.embeddings.discriminants.per_class_pca",
            "embedding",
            "principal components of each class",
        ),
        Component(
            "VCA",
            "eigenbench.methods.embeddings.discriminants.vca",
            "embedding",
            "directions along which the data vanish",
        ),
        Component(
            "KernelPCA",
            "sklearn.decomposition",
            "embedding",
            "principal components in a kernel's feature space",
        ),
        Component(
            "LinearDiscriminantAnalysis",
            "sklearn.discriminant_analysis",
            "embedding",
            "Fisher's discriminants",
        ),
        Component(
            "HyperbolicPCA",
            "eigenbench.methods.embeddings.constraints.hyperbolic_pca",
            "embedding",
            "keeps equal labels near and different labels far, linear or by a kernel",
        ),
        Component(
            "TemporalHyperbolicPCA",
            "eigenbench.methods.embeddings.constraints.temporal_hyperbolic_pca",
            "embedding",
            "the same without labels: what is near in time is equal",
        ),
        Component(
            "LFDA",
            "eigenbench.methods.peers.metric_learners",
            "embedding",
            "metric-learn's local Fisher discriminants",
            extra="peers",
        ),
        Component(
            "NCA",
            "eigenbench.methods.peers.metric_learners",
            "embedding",
            "metric-learn's neighbourhood components",
            extra="peers",
        ),
        Component(
            "MMC_Supervised",
            "eigenbench.methods.peers.metric_learners",
            "embedding",
            "metric-learn's Mahalanobis metric for clustering",
            extra="peers",
        ),
        Component(
            "UMAP",
            "eigenbench.methods.peers.supervised_umap",
            "embedding",
            "umap-learn's neighbourhood graph of the rows and their labels",
            extra="rivals",
        ),
        Component(
            "SphericalRandomFeatures",
            "eigenbench.methods.embeddings.kernel_features.spherical",
            "expansion",
            "Fourier features of a kernel fitted on the sphere",
        ),
        Component(
            "SphericalHermiteFeatures",
            "eigenbench.methods.embeddings.kernel_features.spherical_hermite",
            "expansion",
            "unbiased Hermite features of the polynomial kernel on the sphere",
        ),
        Component(
            "RandomMaclaurin",
            "eigenbench.methods.embeddings.kernel_features.random_maclaurin",
            "expansion",
            "products of random signs for the powers of the inner product",
        ),
        Component(
            "TensorSketch",
            "eigenbench.methods.embeddings.kernel_features.tensor_sketch",
            "expansion",
            "count sketches multiplied in the Fourier domain",
        ),
        Component(
            "CRAFT",
            "eigenbench.methods.embeddings.kernel_features.craft",
            "expansion",
            "a wide random map and a projection",
        ),
        Component(
            "RandomFourierFeatures",
            "eigenbench.methods.embeddings.kernel_features.random_fourier",
            "expansion",
            "Fourier features of the Gaussian, Laplacian and Matérn kernels",
        ),
        Component(
            "PolynomialCountSketch",
            "sklearn.kernel_approximation",
            "expansion",
            "scikit-learn's Tensor Sketch",
        ),
        Component(
            "FeatureUnion",
            "sklearn.pipeline",
            "expansion",
            "scikit-learn's union of features, of pipelines side by side",
        ),
        Component(
            "Nystroem",
            "sklearn.kernel_approximation",
            "expansion",
            "kernel features from sampled rows",
        ),
        Component(
            "RBFSampler",
            "sklearn.kernel_approximation",
            "expansion",
            "scikit-learn's Fourier features of the Gaussian kernel",
        ),
        Component(
            "RandomTreesEmbedding",
            "sklearn.ensemble",
            "expansion",
            "leaves of random trees",
        ),
        Component("Normalizer", "sklearn.preprocessing", "preprocessing", "rows scaled to unit length"),
        Component(
            "CalibratedLeastSquares",
            "eigenbench.methods.classifiers.calibrated_least_squares",
            "classifier",
            "least-squares rounds with a polynomial link",
        ),
        Component(
            "SecondOrderLogistic",
            "eigenbench.methods.classifiers.second_order_logistic",
            "classifier",
            "multinomial logistic, L-BFGS on whitened features",
        ),
        Component(
            "StochasticLogistic",
            "eigenbench.methods.classifiers.stochastic_logistic",
            "classifier",
            "multinomial logistic, preconditioned stochastic steps",
        ),
        Component(
            "Rembrandt",
            "eigenbench.methods.embeddings.labels.rembrandt",
            "embedding",
            "label embedding of rank-constrained least squares",
        ),
        Component(
            "PLST",
            "eigenbench.methods.embeddings.labels.plst",
            "embedding",
            "label embedding by the principal components of the labels",
        ),
        Component(
            "CompressedSensing",
            "eigenbench.methods.embeddings.labels.compressed_sensing",
            "embedding",
            "random Gaussian label embedding",
        ),
        Component(
            "TruncatedSVD",
            "sklearn.decomposition",
            "embedding",
            "principal components of uncentred, also sparse, data",
        ),
        Component(
            "LabelEmbeddingClassifier",
            "eigenbench.methods.classifiers.label_embedding_classifier",
            "classifier",
            "predicts an embedding and decodes it by logistic regression",
        ),
        Component("LogisticRegression", "sklearn.linear_model", "classifier", "scikit-learn's multinomial"),
        Component("LinearSVC", "sklearn.svm", "classifier", "scikit-learn's linear SVM"),
        Component(
            "SVC",
            "sklearn.svm",
            "classifier",
            "scikit-learn's kernel SVM",
        ),
        Component(
            "KNeighborsClassifier",
            "sklearn.neighbors",
            "classifier",
            "scikit-learn's nearest neighbours",
        ),
        Component(
            "HistGradientBoostingClassifier",
            "sklearn.ensemble",
            "classifier",
            "scikit-learn's gradient boosting of trees",
        ),
        Component(
            "RandomForestClassifier",
            "sklearn.ensemble",
            "classifier",
            "scikit-learn's random forest",
        ),
        Component(
            "LGBMClassifier",
            "lightgbm",
            "classifier",
            "LightGBM's gradient boosting of trees",
            extra="rivals",
        ),
        Component(
            "OneVsRestLogistic",
            "eigenbench.methods.peers.one_vs_rest",
            "classifier",
            "scikit-learn's logistic regression for each label on its own",
        ),
        Component(
            "SubsampledSVC",
            "eigenbench.methods.peers.subsampled_svc",
            "classifier",
            "scikit-learn's SVM with the Gaussian kernel, on a subsample",
        ),
        Component(
            "VowpalWabbitOAA",
            "eigenbench.methods.peers.vowpal_wabbit",
            "classifier",
            "Vowpal Wabbit's one against all",
            extra="peers",
        ),
        Component(
            "VowpalWabbitLOMTree",
            "eigenbench.methods.peers.vowpal_wabbit",
            "classifier",
            "Vowpal Wabbit's tree of logarithmic depth",
            extra="peers",
        ),
        Component(
            "NapkinXCPLT",
            "eigenbench.methods.peers.napkinxc_plt",
            "classifier",
            "napkinXC's probabilistic label tree",
            extra="peers",
        ),
    )
}


def near_match(name: str, known: list[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name, or an empty string."""
    folded = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), list(folded), n=1, cutoff=0.5)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""
