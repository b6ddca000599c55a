"""eigenbench: spectral and randomized embeddings as scikit-learn estimators, benchmarked."""

from importlib import import_module

_EXPORTS = {
    "CRAFT": "eigenbench.embeddings.craft",
    "CalibratedLeastSquares": "eigenbench.classifiers.calibrated_least_squares",
    "ClassMoments": "eigenbench.moments",
    "CompressedSensing": "eigenbench.embeddings.compressed_sensing",
    "ContractedGEM": "eigenbench.embeddings.contracted_gem",
    "DoublyStochasticLogistic": "eigenbench.classifiers.doubly_stochastic",
    "FisherLDA": "eigenbench.embeddings.fisher_lda",
    "GEM": "eigenbench.embeddings.gem",
    "GeometricMeanEnsemble": "eigenbench.classifiers.geometric_mean_ensemble",
    "HyperbolicPCA": "eigenbench.embeddings.hyperbolic_pca",
    "LabelEmbeddingClassifier": "eigenbench.classifiers.label_embedding",
    "NeighborhoodGEM": "eigenbench.embeddings.neighborhood_gem",
    "OneExampleNearestNeighbour": "eigenbench.classifiers.one_example",
    "OrientedPCA": "eigenbench.embeddings.oriented_pca",
    "PLST": "eigenbench.embeddings.plst",
    "PerClassPCA": "eigenbench.embeddings.per_class_pca",
    "RandomDirections": "eigenbench.embeddings.random_directions",
    "RandomFourierFeatures": "eigenbench.embeddings.random_fourier",
    "RandomMaclaurin": "eigenbench.embeddings.random_maclaurin",
    "Rembrandt": "eigenbench.embeddings.rembrandt",
    "SIR": "eigenbench.embeddings.sir",
    "SecondOrderLogistic": "eigenbench.classifiers.second_order_logistic",
    "SignedPowers": "eigenbench.embeddings.signed_powers",
    "SphericalHermiteFeatures": "eigenbench.embeddings.spherical_hermite",
    "SphericalRandomFeatures": "eigenbench.embeddings.spherical",
    "StochasticLogistic": "eigenbench.classifiers.stochastic_logistic",
    "SubclassGEM": "eigenbench.embeddings.subclass_gem",
    "TemporalHyperbolicPCA": "eigenbench.embeddings.temporal_hyperbolic_pca",
    "TensorSketch": "eigenbench.embeddings.tensor_sketch",
    "VCA": "eigenbench.embeddings.vca",
}

__all__ = sorted(_EXPORTS)
__version__ = "0.1.0"


def __getattr__(name: str):
    """Import a public estimator on first use, so that light commands start without scikit-learn."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'eigenbench' has no attribute {name!r}")
    return getattr(import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return __all__
