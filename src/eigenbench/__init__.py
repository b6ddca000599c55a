"""eigenbench: spectral and randomized embeddings as scikit-learn estimators, benchmarked."""

from importlib import import_module

_EXPORTS = {
    "CalibratedLeastSquares": "eigenbench.classifiers.calibrated_least_squares",
    "ClassMoments": "eigenbench.moments",
    "GEM": "eigenbench.embeddings.gem",
    "RandomDirections": "eigenbench.embeddings.random_directions",
    "SecondOrderLogistic": "eigenbench.classifiers.second_order_logistic",
    "SignedPowers": "eigenbench.embeddings.signed_powers",
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
