"""Recipes of ``methods: all``: a pipeline for each embedding on class data, and its search.

Every recipe scales the columns first and the features last, so that one linear classifier serves all of
them, and every search has at most `MAX_POINTS` points: no method is tuned much more than another. `of_width`
brings them to an equal number of features.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from eigenbench.bench.suites.steps import Step, grid_size, with_params

Grid = dict[str, list[Any]]

#: A search of a recipe has at most so many points, those of the classifier not counted.
MAX_POINTS = 6

_SCALE = Step(component="StandardScaler")
_POWERS = Step(component="SignedPowers")

#: Features that ``SignedPowers`` makes of one direction.
_PER_DIRECTION = 6


@dataclass(frozen=True)
class Recipe:
    """A pipeline of steps, and the grid of its search, ``step__parameter`` to the values that it tries.

    ``width`` is the ``step__parameter`` that sets the number of features, ``per_unit`` for each unit of it;
    empty where inputs and classes set it. ``methods: all`` leaves out recipes without ``in_all``, which stand
    in the suite `recent_rivals`.
    """

    steps: tuple[Step, ...]
    grid: Grid = field(default_factory=dict)
    width: str = ""
    per_unit: int = 1
    in_all: bool = True

    def __post_init__(self) -> None:
        if grid_size(self.grid) > MAX_POINTS:
            raise ValueError(f"{grid_size(self.grid)} points to search, more than {MAX_POINTS}")


def _step(component: str, **params: Any) -> Step:
    return Step(component=component, params=params)


def _directions(*steps: Step, width: str = "", grid: Grid | None = None, **more: list[Any]) -> Recipe:
    """Return a recipe of linear projections, whose nonlinear part is the powers of each."""
    return Recipe((_SCALE, *steps, _POWERS, _SCALE), {**(grid or {}), **more}, width, _PER_DIRECTION)


def _features(*steps: Step, width: str = "", grid: Grid | None = None, **more: list[Any]) -> Recipe:
    """Return a recipe of a map whose features are nonlinear by themselves."""
    return Recipe((_SCALE, *steps, _SCALE), {**(grid or {}), **more}, width)


_RIDGES = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
_WIDTHS = [50, 100, 200]
_GAMMAS = [0.05, 0.5]
_LENGTHS = [0.5, 1.0, 2.0]
_BANDWIDTHS = [3e-4, 3e-3, 3e-2, 3e-1]
_SHAPES: Grid = {"degree": [3, 7], "a": [2.0, 4.0]}


def _sphere(component: str) -> Recipe:
    """Return the recipe of a map of the polynomial kernel on the sphere."""
    name = component.lower()
    grid = {f"{name}__{key}": values for key, values in _SHAPES.items()}
    return _features(_step(component, n_components=1024), width=f"{name}__n_components", grid=grid)


def _labels(component: str, *before: Step, **grid: list[Any]) -> Recipe:
    """Return the recipe of a label embedding, used for the predictions of its linear map."""
    return _directions(*before, _step(component), grid={f"{component.lower()}__ridge": [0.01, 0.1], **grid})


def _gem(component: str) -> Recipe:
    """Return the recipe of GEM or of a relative with the same parameters."""
    name = component.lower()
    width = f"{name}__n_components"
    return _directions(_step(component), width=width, grid={width: _WIDTHS, f"{name}__gamma": _GAMMAS})


_FOURIER = _step("RandomFourierFeatures", n_components=256)

RECIPES: dict[str, Recipe] = {
    # No embedding.
    "raw": Recipe((_SCALE,)),
    "powers": _directions(signedpowers__offset=[0.0, 0.5, 1.0]),
    # Projections that know no classes.
    "random": _directions(
        _step("RandomDirections"),
        width="randomdirections__n_components",
        randomdirections__n_components=[25, 50, 100, 200, 400],
    ),
    "pca": _directions(_step("PCA", svd_solver="full"), pca__n_components=[0.8, 0.9, 0.95, 0.99]),
    "pca_whitened": _directions(
        _step("PCA", svd_solver="full", whiten=True), pca__n_components=[0.8, 0.9, 0.95, 0.99]
    ),
    "pca_rotated": _directions(
        _step("PCA", svd_solver="full", whiten=True),
        _step("RandomDirections"),
        width="randomdirections__n_components",
        pca__n_components=[0.9, 0.99],
        randomdirections__n_components=[50, 100, 200],
    ),
    "vca": _directions(_step("VCA"), vca__n_components=[5, 10, 20, 40]),
    # Discriminative projections.
    "per_class_pca": _directions(_step("PerClassPCA"), perclasspca__n_components=[1, 2, 5, 10]),
    "lda": _directions(
        _step("LinearDiscriminantAnalysis", solver="eigen"),
        lineardiscriminantanalysis__shrinkage=[1e-3, 1e-2, 1e-1, 0.5],
    ),
    "fisher_lda": _directions(_step("FisherLDA"), fisherlda__gamma=_RIDGES),
    "sir": _directions(_step("SIR", n_components=100), sir__gamma=_RIDGES),
    "gem": _gem("GEM"),
    "gem_neighborhoods": _gem("NeighborhoodGEM"),
    "gem_subclasses": _gem("SubclassGEM"),
    "deep_gem": _directions(
        _step("GEM", n_components=50),
        _POWERS,
        _step("GEM"),
        width="gem-2__n_components",
        grid={"gem-2__n_components": _WIDTHS, "gem-2__gamma": _GAMMAS},
    ),
    "gem_on_fourier": _directions(
        _FOURIER,
        _step("GEM"),
        width="gem__n_components",
        gem__n_components=[100, 200],
        randomfourierfeatures__length_factor=_LENGTHS,
    ),
    # Projections that keep pairs near or far.
    "hyperbolic_pca": _directions(
        _step("HyperbolicPCA", eta_negative="risk"), hyperbolicpca__n_components=[5, 10, 20, 40]
    ),
    "hyperbolic_pca_kernel": _directions(
        _step("Nystroem", n_components=200),
        _step("HyperbolicPCA", n_components=40, eta_negative="risk"),
        nystroem__gamma=_BANDWIDTHS,
    ),
    "lfda": _directions(
        _step("PCA", n_components=0.99, svd_solver="full"), _step("LFDA"), lfda__k=[3, 7, 15]
    ),
    "nca": _directions(
        _step("PCA", svd_solver="full"), _step("NCA", max_iter=30), pca__n_components=[0.8, 0.95]
    ),
    "mmc": _directions(
        _step("PCA", svd_solver="full"), _step("MMC_Supervised", max_iter=20), pca__n_components=[0.8, 0.95]
    ),
    # Label embeddings.
    "rembrandt": _labels("Rembrandt"),
    "rembrandt_on_fourier": _labels("Rembrandt", _FOURIER, randomfourierfeatures__length_factor=_LENGTHS),
    "plst": _labels("PLST"),
    "compressed_sensing": _labels("CompressedSensing"),
    # Maps whose inner products are those of a kernel.
    "fourier": _features(
        _step("RandomFourierFeatures", n_components=1024),
        width="randomfourierfeatures__n_components",
        randomfourierfeatures__length_factor=[0.25, *_LENGTHS, 4.0],
    ),
    "spherical": _sphere("SphericalRandomFeatures"),
    "spherical_hermite": _sphere("SphericalHermiteFeatures"),
    "random_maclaurin": _sphere("RandomMaclaurin"),
    "tensor_sketch": _sphere("TensorSketch"),
    "craft": _sphere("CRAFT"),
    "polynomial_count_sketch": _features(
        _step("Normalizer"),
        _step("PolynomialCountSketch", n_components=1024),
        width="polynomialcountsketch__n_components",
        polynomialcountsketch__degree=[2, 3],
        polynomialcountsketch__coef0=[0.0, 1.0],
    ),
    "rbf_sampler": _features(
        _step("RBFSampler", n_components=1024),
        width="rbfsampler__n_components",
        rbfsampler__gamma=_BANDWIDTHS,
    ),
    "nystroem": _features(
        _step("Nystroem", n_components=300), width="nystroem__n_components", nystroem__gamma=_BANDWIDTHS
    ),
    "kernel_pca": _features(
        _step("KernelPCA", n_components=300, kernel="rbf"),
        width="kernelpca__n_components",
        kernelpca__gamma=_BANDWIDTHS,
    ),
    "random_trees": _features(
        _step("RandomTreesEmbedding", sparse_output=False), randomtreesembedding__max_depth=[3, 5, 7]
    ),
    # Compared by the suite `recent_rivals`, on fewer tables than the others.
    "rfm": replace(
        _features(
            _step("RecursiveFeatureMachine"),
            _step("RandomFourierFeatures", kernel="matern", nu=0.5, n_components=1024),
            width="randomfourierfeatures__n_components",
            recursivefeaturemachine__n_rounds=[1, 3],
            randomfourierfeatures__length_factor=_LENGTHS,
        ),
        in_all=False,
    ),
    "optimized_maclaurin": replace(_sphere("OptimizedMaclaurin"), in_all=False),
    "pls": replace(_directions(_step("LabelPLS"), labelpls__n_components=[2, 5, 10, 20]), in_all=False),
    "cca": replace(
        _directions(
            _step("PCA", svd_solver="full"), _step("LabelCCA"), pca__n_components=[0.8, 0.9, 0.95, 0.99]
        ),
        in_all=False,
    ),
    "pca_nystroem": replace(
        _features(
            _step("PCA", svd_solver="full"),
            _step("Nystroem", n_components=300),
            width="nystroem__n_components",
            pca__n_components=[0.9, 0.99],
            nystroem__gamma=_BANDWIDTHS[:3],
        ),
        in_all=False,
    ),
    # Two maps side by side.
    "gem_and_fourier": Recipe(
        (
            _SCALE,
            _step(
                "FeatureUnion",
                transformer_list=[
                    ["gem", [{"GEM": {"n_components": 100}}, {"SignedPowers": {}}]],
                    ["fourier", {"RandomFourierFeatures": {"n_components": 512}}],
                ],
            ),
            _SCALE,
        )
    ),
}


def of_width(recipe: Recipe, n_features: int) -> Recipe | None:
    """Return a recipe that makes a number of features, with the rest of its search; None where it cannot.

    The number is rounded down to a multiple of six where features are powers of directions. Directions whose
    number follows from inputs and classes are rotated into as many random ones as it takes.
    """
    n_units = max(1, n_features // recipe.per_unit)
    if recipe.width:
        grid = {key: values for key, values in recipe.grid.items() if key != recipe.width}
        return replace(recipe, steps=with_params(recipe.steps, {recipe.width: n_units}), grid=grid)
    if recipe.steps[-2:] != (_POWERS, _SCALE):
        return None
    rotation = _step("RandomDirections", n_components=n_units)
    return replace(recipe, steps=(*recipe.steps[:-2], rotation, _POWERS, _SCALE))
