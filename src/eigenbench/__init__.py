"""eigenbench: spectral and randomized embeddings as scikit-learn estimators, benchmarked."""

from importlib import import_module
from typing import Any

_EXPORTS = {
    "CRAFT": "eigenbench.embeddings.kernel_features.craft",
    "CalibratedLeastSquares": "eigenbench.classifiers.calibrated_least_squares",
    "ClassMoments": "eigenbench.moments",
    "CompressedSensing": "eigenbench.embeddings.labels.compressed_sensing",
    "ContractedGEM": "eigenbench.embeddings.discriminants.contracted_gem",
    "DoublyStochasticLogistic": "eigenbench.classifiers.doubly_stochastic",
    "FisherLDA": "eigenbench.embeddings.discriminants.fisher_lda",
    "GEM": "eigenbench.embeddings.discriminants.gem",
    "GeometricMeanEnsemble": "eigenbench.classifiers.geometric_mean_ensemble",
    "HyperbolicPCA": "eigenbench.embeddings.constraints.hyperbolic_pca",
    "LabelEmbeddingClassifier": "eigenbench.classifiers.label_embedding_classifier",
    "NeighborhoodGEM": "eigenbench.embeddings.discriminants.neighborhood_gem",
    "OneExampleNearestNeighbour": "eigenbench.classifiers.one_example",
    "OrientedPCA": "eigenbench.embeddings.discriminants.oriented_pca",
    "PLST": "eigenbench.embeddings.labels.plst",
    "Partitions": "eigenbench.linalg.partitions",
    "PerClassPCA": "eigenbench.embeddings.discriminants.per_class_pca",
    "PooledMoments": "eigenbench.moments",
    "RandomDirections": "eigenbench.embeddings.random_directions",
    "RandomFourierFeatures": "eigenbench.embeddings.kernel_features.random_fourier",
    "RandomMaclaurin": "eigenbench.embeddings.kernel_features.random_maclaurin",
    "Rembrandt": "eigenbench.embeddings.labels.rembrandt",
    "SIR": "eigenbench.embeddings.discriminants.sir",
    "SecondOrderLogistic": "eigenbench.classifiers.second_order_logistic",
    "SignedPowers": "eigenbench.embeddings.signed_powers",
    "SphericalHermiteFeatures": "eigenbench.embeddings.kernel_features.spherical_hermite",
    "SphericalRandomFeatures": "eigenbench.embeddings.kernel_features.spherical",
    "StochasticLogistic": "eigenbench.classifiers.stochastic_logistic",
    "StreamedMoments": "eigenbench.moments",
    "SubclassGEM": "eigenbench.embeddings.discriminants.subclass_gem",
    "TemporalHyperbolicPCA": "eigenbench.embeddings.constraints.temporal_hyperbolic_pca",
    "TensorSketch": "eigenbench.embeddings.kernel_features.tensor_sketch",
    "VCA": "eigenbench.embeddings.discriminants.vca",
    "compare": "eigenbench.own_data.python",
    "load_model": "eigenbench.records.model_file",
}

__all__ = sorted(_EXPORTS)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public estimator on first use, so that light commands start without scikit-learn."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'eigenbench' has no attribute {name!r}")
    return getattr(import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return __all__
