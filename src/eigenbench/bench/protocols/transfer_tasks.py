"""Settings of the protocol `transfer`, its tasks, and the choice of parameters on held-out source classes."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from eigenbench.bench.protocols.base import (
    ImageSize,
    ProtocolSettings,
    SettingsModel,
    Several,
    Trial,
    candidates_of,
)

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

logger = logging.getLogger(__name__)


class Deformation(SettingsModel):
    """Random affine maps under which copies of the source images are made.

    - ``copies``: Copies of every image.
    - ``rotation``, ``shear``: Standard deviations of the angle, in radians, and of the slant.
    - ``scaling``: Standard deviation of the logarithm of the scale, drawn for each axis.
    - ``shift``: Standard deviation of the translation in each direction, in pixels.
    """

    copies: int = Field(ge=1)
    rotation: float = Field(default=0.0, ge=0)
    shear: float = Field(default=0.0, ge=0)
    scaling: float = Field(default=0.0, ge=0)
    shift: float = Field(default=0.0, ge=0)


class ImageTreatment(SettingsModel):
    """Treatment of the images that methods see: a candidate of the choice on held-out source classes.

    - ``inverted``: Take the largest grey level minus each pixel.
    - ``smoothing``: Standard deviation of a Gaussian filter, in pixels.
    - ``deformed_copies``: Copies added to the images of the source.
    """

    inverted: bool = False
    smoothing: float = Field(default=0.0, ge=0)
    deformed_copies: Deformation | None = None


class TransferSettings(ProtocolSettings):
    """The classes, and images of each, that make the source and the target task.

    - ``target``: Dataset whose test rows are the target's pool; the source then draws from all rows of the
      experiment's own dataset. None: the target task comes from the experiment's dataset too.
    - ``by_part``: Draw the source from the training rows and the target from the test rows, for datasets
      whose parts have different classes. Otherwise the target classes are drawn from those that the source
      left.
    - ``source_classes``, ``target_classes``: Numbers of classes drawn.
    - ``source_per_class``, ``target_per_class``: Images drawn of each class; all of them where there are
      fewer.
    - ``target_names``: Names of the target classes, where they are given and not drawn.
    - ``exclude``: Names of classes that the source never draws.
    - ``inverted``: Take the largest grey level minus each pixel, in ``raw_nn_error`` too.
    - ``smoothing``: Standard deviation, in pixels, of a Gaussian filter on what methods see; ``raw_nn_error``
      is that of the images as they are. Needs ``image``.
    - ``image``: Height and width of the images.
    - ``deformed_copies``: Copies added to the images of the source, with their classes. Every method is
      fitted on images and copies; errors are those of images alone. Needs ``image``.
    - ``treatments``: Candidates for ``inverted``, ``smoothing`` and ``deformed_copies``, chosen together with
      the method's parameters on held-out source classes. Needs ``image``.
    - ``folds``: Parts of the source classes that are held out in turn to choose parameters given as
      ``{choose: [...]}``.
    - ``choice_per_class``: Images of each source class that take part in the choice, with their copies; None:
      all.
    """

    headline: ClassVar[str] = "nn_error"
    optional: ClassVar[tuple[str, ...]] = ("target_names", "inverted", "treatments")

    target: str | None = None
    by_part: bool = False
    source_classes: int = Field(ge=2)
    source_per_class: int = Field(ge=2)
    target_classes: int = Field(ge=2)
    target_per_class: int = Field(ge=2)
    target_names: Several[str] = ()
    exclude: Several[str] = ()
    inverted: bool = False
    smoothing: float = Field(default=0.0, ge=0)
    image: ImageSize | None = None
    deformed_copies: Deformation | None = None
    treatments: Several[ImageTreatment] = ()
    folds: int = Field(default=3, ge=2)
    choice_per_class: int | None = Field(default=None, ge=2)

    def datasets(self) -> tuple[str, ...]:
        """Return the target's dataset, where it is another one."""
        return () if self.target is None else (self.target,)

    def n_tested(self) -> int:
        """Return the number of images of the target task."""
        return self.target_classes * self.target_per_class

    @model_validator(mode="after")
    def _consistent(self) -> TransferSettings:
        if self.target is not None and self.by_part:
            raise ValueError(
                "give 'target', another dataset, or 'by_part', this dataset's test rows, not both"
            )
        if self.target_names and len(self.target_names) != self.target_classes:
            raise ValueError(
                f"'target_names' names {len(self.target_names)} of {self.target_classes} classes"
            )
        for name in ("smoothing", "deformed_copies", "treatments"):
            if getattr(self, name) and self.image is None:
                raise ValueError(f"'{name}' needs 'image', the height and width of the images")
        return self

    def work(self, rows: int, features: int) -> int:
        """Estimate the numbers that one measurement computes on: a kernel matrix or all images and copies."""
        copies = self.deformed_copies.copies if self.deformed_copies else 0
        images = self.source_classes * min(self.source_per_class, rows) * (1 + copies)
        return images * max(images, features)

    def metrics(self) -> tuple[str, ...]:
        """Return the names of errors and risks, and the pattern of chosen parameters."""
        return (
            "nn_error",
            "raw_nn_error",
            "nn_error_ratio",
            "balanced_risk",
            "threshold",
            "relative_threshold",
            "source_risk",
            "bound",
            "eta_negative",
            "held_out_nn_error",
            "chosen_*",
        )


@dataclass(frozen=True)
class Task:
    """Images of one task.

    ``X`` (n, d) are pixels, smoothed if the settings say so, scaled to unit length, as float64: images of one
    class in the order of the dataset, deformed copies after all images. ``raw`` (m, d) are the pixels of the
    m images as they are, scaled to unit length. ``y`` (n,) are class codes of the dataset, ``classes`` names
    by code. ``origin`` (n,) numbers the image that a row is a copy of, or is.
    """

    X: np.ndarray
    raw: np.ndarray
    y: np.ndarray
    origin: np.ndarray
    classes: list[str]

    @property
    def drawn(self) -> np.ndarray:
        """Mask of the rows that are images of the dataset, not copies."""
        return self.origin == np.arange(len(self.origin))


def draw_tasks(trial: Trial) -> tuple[Task, Task]:
    """Draw the source and the target task with the trial's seed.

    A ValueError says why the data do not suit the settings.
    """
    settings: TransferSettings = trial.settings
    own = trial.data()
    other = own if settings.target is None else trial.data(settings.target)
    generator = np.random.default_rng([trial.seed, 0x7472])
    everything = _Pool((own.X_train, own.X_test), (own.y_train, own.y_test), own.classes)
    source_pool = _Pool((own.X_train,), (own.y_train,), own.classes) if settings.by_part else everything
    separate = settings.by_part or settings.target is not None
    target_pool = _Pool((other.X_test,), (other.y_test,), other.classes) if separate else everything
    for name in settings.exclude:
        if name not in own.classes:
            raise ValueError(f"exclude: there is no class {name!r}; the classes are {', '.join(own.classes)}")
    for name in settings.target_names:
        if name not in other.classes:
            raise ValueError(
                f"target_names: there is no class {name!r}; the classes are {', '.join(other.classes)}"
            )
    given = [other.classes.index(name) for name in settings.target_names]
    reserved = given if settings.target is None else []
    codes = [
        code
        for code in source_pool.codes
        if own.classes[code] not in settings.exclude and code not in reserved
    ]
    sources = _draw_classes(codes, settings.source_classes, "source", generator)
    taken = sources if settings.target is None else []
    codes = given or [code for code in target_pool.codes if code not in taken]
    targets = _draw_classes(codes, settings.target_classes, "target", generator)
    source_rows = _draw_rows(source_pool, sources, settings.source_per_class, generator)
    target_rows = _draw_rows(target_pool, targets, settings.target_per_class, generator)
    deforming = np.random.default_rng([trial.seed, 0x6465])
    return (
        _task(source_pool, source_rows, settings, settings.deformed_copies, deforming),
        _task(target_pool, target_rows, settings, None, deforming),
    )


class _Pool:
    """Rows of one or two parts of a dataset; they are copied only when a task takes them."""

    def __init__(self, parts: tuple[Any, ...], labels: tuple[Any, ...], classes: list[str]) -> None:
        from scipy.sparse import issparse

        if any(issparse(part) for part in parts) or any(y.ndim != 1 for y in labels):
            raise ValueError("transfer needs dense images with one label each")
        self.parts = parts
        self.y = np.concatenate(labels)
        self.codes: list[int] = np.unique(self.y).tolist()
        self.classes = list(classes)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return rows as float64: small eigenvalues decide in several methods, too small for float32."""
        taken = np.empty((len(rows), self.parts[0].shape[1]))
        start = 0
        for part in self.parts:
            inside = (rows >= start) & (rows < start + len(part))
            taken[inside] = part[rows[inside] - start]
            start += len(part)
        return taken


def _draw_classes(codes: list[int], n_classes: int, task: str, generator: np.random.Generator) -> list[int]:
    if len(codes) < n_classes:
        raise ValueError(f"the {task} task asks for {n_classes} classes, and its pool has {len(codes)}")
    return sorted(int(code) for code in generator.permutation(codes)[:n_classes])


def _draw_rows(pool: _Pool, codes: list[int], per_class: int, generator: np.random.Generator) -> np.ndarray:
    return np.concatenate(
        [np.sort(generator.permutation(np.flatnonzero(pool.y == code))[:per_class]) for code in codes]
    )


def _task(
    pool: _Pool,
    rows: np.ndarray,
    settings: TransferSettings,
    deformation: Deformation | None,
    generator: np.random.Generator,
) -> Task:
    from sklearn.preprocessing import normalize

    pixels = pool.take(rows)
    if settings.inverted:
        pixels = pixels.max() - pixels
    if settings.image is None:
        seen, n_copies = pixels, 0
    else:
        seen, n_copies = _seen(pixels, settings, settings.image, deformation, generator)
    y, origin = (np.tile(values, 1 + n_copies) for values in (pool.y[rows], np.arange(len(rows))))
    return Task(normalize(seen), normalize(pixels), y, origin, pool.classes)


def _seen(
    pixels: np.ndarray,
    settings: TransferSettings,
    size: tuple[int, int],
    deformation: Deformation | None,
    generator: np.random.Generator,
) -> tuple[np.ndarray, int]:
    """Return what methods see of the images, copies after all images, and how many copies there are."""
    from scipy.ndimage import gaussian_filter

    height, width = size
    if height * width != pixels.shape[1]:
        raise ValueError(f"images of {height} x {width} pixels do not have {pixels.shape[1]} columns")
    images, n_copies = pixels.reshape(-1, height, width), 0
    if deformation is not None:
        n_copies = deformation.copies
        copies = deformed_copies(images, deformation, generator)
        images = np.concatenate([images[None], copies]).reshape(-1, height, width)
    if settings.smoothing:
        images = gaussian_filter(images, (0, settings.smoothing, settings.smoothing))
    return images.reshape(len(images), -1), n_copies


def deformed_copies(
    images: np.ndarray, deformation: Deformation, generator: np.random.Generator
) -> np.ndarray:
    """Resample every image, bilinear, under random affine maps about its centre.

    Images (n, height, width) of grey levels become copies (copies, n, height, width), float64, one copy of
    all images after the other. Beyond the border an image goes on with the levels at its border.
    """
    from scipy.ndimage import affine_transform

    n, height, width = images.shape
    centre = (np.array([height, width]) - 1) / 2
    made = np.empty((deformation.copies, n, height, width))
    for copies in made:
        maps = _affine_maps(n, deformation, generator)
        shifts = generator.standard_normal((n, 2)) * deformation.shift
        for image, copy, matrix, shift in zip(images, copies, maps, shifts, strict=True):
            offset = centre - matrix @ (centre + shift)
            affine_transform(image, matrix, offset=offset, order=1, mode="nearest", output=copy)
    return made


def _affine_maps(n: int, deformation: Deformation, generator: np.random.Generator) -> np.ndarray:
    """Draw n matrices that take a copy's coordinates, row and column, to the image's: (n, 2, 2)."""
    angle = generator.standard_normal(n) * deformation.rotation
    slant = generator.standard_normal(n) * deformation.shear
    stretch = np.exp(generator.standard_normal((2, n)) * deformation.scaling)
    cosine, sine = np.cos(angle), np.sin(angle)
    rotation = np.array([[cosine, -sine], [sine, cosine]])
    slanted = np.array([[stretch[0], np.zeros(n)], [slant * stretch[1], stretch[1]]])
    return np.einsum("ijn,jkn->nik", rotation, slanted)


def one_example_error(X: Any, y: Any) -> float:
    """Return the 1-NN error with one example per class, in expectation over all choices of the examples."""
    from eigenbench.methods.classifiers.one_example import OneExampleNearestNeighbour

    return OneExampleNearestNeighbour().fit(X, y).leave_rest_out_error()


def choose_on_held_out_classes(
    method: Pipeline,
    X: np.ndarray,
    y: np.ndarray,
    *,
    folds: int,
    seed: int,
    measured: np.ndarray | None = None,
    always: bool = False,
) -> tuple[dict[str, float], float | None]:
    """Set the parameters given as ``{choose: [...]}`` to the values that transfer best to held-out classes.

    The classes are divided at random into ``folds`` parts, each of two classes or more. Each part in turn is
    held out: the method is fitted on the other classes, and the part is a target task. Chosen, and set in
    place, is the combination with the lowest mean `one_example_error`, the first one of equals; one that
    cannot be fitted to a part is out. The error is taken on the rows in ``measured``, all if it is None;
    methods are fitted on the others, too. With ``always`` the error is taken even where nothing is chosen.

    Returns the chosen values by ``step__parameter``, and their mean error, or None when it was not taken.
    Where no combination can be fitted, the error of the last one is raised.
    """
    from sklearn.base import clone
    from sklearn.model_selection import GroupKFold, ParameterGrid

    grid = candidates_of(method)
    if not (grid or always):
        return {}, None
    n_classes = len(np.unique(y))
    if n_classes < 2 * folds:
        raise ValueError(
            f"{n_classes} source classes cannot make {folds} parts of two classes: lower the setting folds"
        )
    counted = np.ones(len(y), dtype=bool) if measured is None else measured
    parts = list(GroupKFold(folds, shuffle=True, random_state=seed).split(X, y, groups=y))
    parts = [(rest, held_out[counted[held_out]]) for rest, held_out in parts]
    best: tuple[float, dict[str, float]] | None = None
    failure: Exception | None = None
    for candidate in ParameterGrid(grid):
        try:
            error = _error_on_parts(clone(method).set_params(**candidate), X, y, parts)
        except (ValueError, np.linalg.LinAlgError) as reason:
            logger.warning("%s cannot be fitted: %s", candidate, reason)
            failure = reason
            continue
        if best is None or error < best[0]:
            best = error, candidate
    if best is None:
        assert failure is not None
        raise failure
    method.set_params(**best[1])
    return best[1], best[0]


def _error_on_parts(
    method: Pipeline, X: np.ndarray, y: np.ndarray, parts: list[tuple[np.ndarray, np.ndarray]]
) -> float:
    from sklearn.base import clone

    errors = []
    for rest, held_out in parts:
        fitted = clone(method).fit(X[rest], y[rest])
        errors.append(one_example_error(fitted.transform(X[held_out]), y[held_out]))
    return float(np.mean(errors))
