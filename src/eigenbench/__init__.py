"""eigenbench: spectral and randomized embeddings as scikit-learn estimators, benchmarked."""

from importlib import import_module
from typing import Any

_EXPORTS = {
    "CRAFT": "eigenbench.methods.embeddings.kernel_features.craft",
    "CalibratedLeastSquares": "eigenbench.methods.classifiers.calibrated_least_squares",
    "ClassMoments": "eigenbench.methods.moments",
    "CompressedSensing": "eigenbench.methods.embeddings.labels.compressed_sensing",
    "ContractedGEM": "eigenbench.methods.embeddings.discriminants.contracted_gem",
    "DoublyStochasticLogistic": "eigenbench.methods.classifiers.doubly_stochastic",
    "FisherLDA": "eigenbench.methods.embeddings.discriminants.fisher_lda",
    "GEM": "eigenbench.methods.embeddings.discriminants.gem",
    "GeometricMeanEnsemble": "eigenbench.methods.classifiers.geometric_mean_ensemble",
    "HyperbolicPCA": "eigenbench.methods.embeddings.constraints.hyperbolic_pca",
    "LabelEmbeddingClassifier": "eigenbench.methods.classifiers.label_embedding_classifier",
    "NeighborhoodGEM": "eigenbench.methods.embeddings.discriminants.neighborhood_gem",
    "OneExampleNearestNeighbour": "eigenbench.methods.classifiers.one_example",
    "OptimizedMaclaurin": "eigenbench.methods.embeddings.kernel_features.optimized_maclaurin",
    "OrientedPCA": "eigenbench.methods.embeddings.discriminants.oriented_pca",
    "PLST": "eigenbench.methods.embeddings.labels.plst",
    "Partitions": "eigenbench.methods.linalg.partitions",
    "PerClassPCA": "eigenbench.methods.embeddings.discriminants.per_class_pca",
    "PooledMoments": "eigenbench.methods.moments",
    "RandomDirections": "eigenbench.methods.embeddings.random_directions",
    "RandomFourierFeatures": "eigenbench.methods.embeddings.kernel_features.random_fourier",
    "RandomMaclaurin": "eigenbench.methods.embeddings.kernel_features.random_maclaurin",
    "RecursiveFeatureMachine": "eigenbench.methods.embeddings.discriminants.recursive_feature_machine",
    "Rembrandt": "eigenbench.methods.embeddings.labels.rembrandt",
    "SIR": "eigenbench.methods.embeddings.discriminants.sir",
    "SecondOrderLogistic": "eigenbench.methods.classifiers.second_order_logistic",
    "SignedPowers": "eigenbench.methods.embeddings.signed_powers",
    "SphericalHermiteFeatures": "eigenbench.methods.embeddings.kernel_features.spherical_hermite",
    "SphericalRandomFeatures": "eigenbench.methods.embeddings.kernel_features.spherical",
    "StochasticLogistic": "eigenbench.methods.classifiers.stochastic_logistic",
    "StreamedMoments": "eigenbench.methods.moments",
    "SubclassGEM": "eigenbench.methods.embeddings.discriminants.subclass_gem",
    "TemporalHyperbolicPCA": "eigenbench.methods.embeddings.constraints.temporal_hyperbolic_pca",
    "TensorSketch": "eigenbench.methods.embeddings.kernel_features.tensor_sketch",
    "VCA": "eigenbench.methods.embeddings.discriminants.vca",
    "compare": "eigenbench.own_data.python",
    "load_model": "eigenbench.methods.model_file",
    "read_table": "eigenbench.own_data.files",
}

__all__ = sorted(_EXPORTS)
__version__ = "0.3.0.dev0"


def __getattr__(name: str) -> Any:
    """Import a public estimator on first use, so that light commands start without scikit-learn."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'eigenbench' has no attribute {name!r}")
    try:
        return getattr(import_module(_EXPORTS[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("eigenbench"):
            raise
        raise ImportError(
            f"eigenbench.{name} needs more than the estimators ({error}): pip install 'eigenbench[suite]'"
        ) from error


def __dir__() -> list[str]:
    return __all__
