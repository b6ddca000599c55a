"""Display names: what people read in place of the keys of methods, classifiers and datasets."""

from __future__ import annotations

import re

from eigenbench.bench.records.runs import NO_CLASSIFIER

_METHODS = {
    "exact": "Exact kernel",
    "features": "Given features",
    "fourier": "Random Fourier features",
    "gem_and_fourier": "GEM and random Fourier features",
    "gem_on_fourier": "GEM on random Fourier features",
    "gem_rff": "GEM on random Fourier features",
    "hermite": "Spherical Hermite features",
    "hyperbolic_pca_kernel": "Hyperbolic kernel PCA",
    "identity": "No embedding",
    "per_class_pca": "PCA of each class",
    "pixels": "Raw pixels",
    "powers": "Signed powers",
    "random": "Random directions",
    "random_fourier": "Random Fourier features",
    "raw": "No embedding",
    "rbf_sampler": "RBF sampler",
    "rembrandt_on_fourier": "Rembrandt on random Fourier features",
    "rff": "Random Fourier features",
    "scaled": "No embedding, scaled",
    "spherical": "Spherical random features",
    "temporal": "Temporal hyperbolic PCA",
}
_CLASSIFIERS = {
    "HistGradientBoostingClassifier": "gradient boosting",
    "KNeighborsClassifier": "nearest neighbours",
    "LGBMClassifier": "LightGBM",
    "LR": "logistic regression",
    "LinearSVC": "linear SVM",
    "OAA": "one against all",
    "RandomForestClassifier": "random forest",
    "SVC": "kernel SVM",
    "StochasticLogistic": "stochastic logistic regression",
    "SecondOrderLogistic": "second-order logistic regression",
    "SubsampledSVC": "kernel SVM on a subsample",
    "logistic": "one-vs-rest logistic regression",
}
_DATASETS = {
    "a9a": "Adult (a9a)",
    "chess": "Chess end games",
    "coil20": "COIL-20",
    "covtype": "Forest cover type",
    "led7digit": "LED display",
    "magic": "MAGIC telescope",
    "movement_libras": "Libras movements",
    "orl_faces": "ORL faces",
    "orl_faces_small": "ORL faces, small",
    "ring": "Ringnorm",
    "satimage": "Satellite image",
    "seq_fun": "Yeast genes (FunCat)",
    "seq_go": "Yeast genes (GO)",
    "wdbc": "Breast masses (WDBC)",
}
_ACRONYMS = "aloi craft emnist gem lda lfda lshtc mmc mnist nca odp pca plst rcv1 sir timit umap usps vca"
_PEOPLE = "fourier hadamard hermite maclaurin rembrandt"
#: Words that are not written as they stand in a key.
_WORDS = {
    **{word: word.upper() for word in _ACRONYMS.split()},
    **{word: word.capitalize() for word in _PEOPLE.split()},
    "CS": "compressed sensing",
    "RE": "Rembrandt",
    "h01": "H0/1",
    "hpca": "hyperbolic PCA",
    "lightgbm": "LightGBM",
    "nystroem": "Nyström",
    "srf": "spherical random features",
    "svc": "kernel SVM",
    "wikilshtc": "WikiLSHTC",
}


def method_name(key: str) -> str:
    """Return the display name of a method of a suite."""
    if found := re.fullmatch(r"(.+)_p(\d+)", key):
        return f"{method_name(found[1])}, p = {found[2]}"
    return _METHODS.get(key) or _in_words(key)


def classifier_name(key: str) -> str:
    """Return the display name of a classifier; empty for none."""
    if key in ("", NO_CLASSIFIER):
        return ""
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", key):
        return key
    return _CLASSIFIERS.get(key) or _in_words(re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", key), capital=False)


def dataset_name(key: str) -> str:
    """Return the display name of a dataset."""
    if found := re.fullmatch(r"(.+)_(\d000)", key):
        return f"{dataset_name(found[1])}, {int(found[2]):,} rows"
    return _DATASETS.get(key) or _in_words(key)


def experiment_name(experiment: str, dataset: str) -> str:
    """Return the display name of an experiment: its dataset, after its own name where that is another."""
    if experiment == dataset:
        return dataset_name(dataset)
    return f"{_in_words(experiment)} on {dataset_name(dataset)}"


def run_name(method: str, classifier: str) -> str:
    """Return the display name of a method with its classifier, if it has one."""
    return " + ".join(filter(None, (method_name(method), classifier_name(classifier))))


def label_name(label: str) -> str:
    """Return the display name of a label, which is ``method`` or ``method + classifier``."""
    return run_name(*(label.split(" + ", 1) if " + " in label else (label, "")))


def _in_words(key: str, *, capital: bool = True) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", key):
        return key
    words = [_WORDS.get(word, word) for word in key.split("_") if word]
    if not capital:
        words = [
            word if word in _WORDS.values() or word[1:] != word[1:].lower() else word.lower()
            for word in words
        ]
    text = " ".join(words) or key
    return text[:1].upper() + text[1:] if capital else text
