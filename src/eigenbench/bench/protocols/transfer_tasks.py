"""The source and the target task of a transfer: classes and images of each, drawn by a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import issparse
from sklearn.preprocessing import normalize

from eigenbench.bench.protocols.base import Trial
from eigenbench.bench.protocols.deformed_copies import Deformation, deformed_copies

if TYPE_CHECKING:
    from eigenbench.bench.protocols.transfer import Settings


@dataclass(frozen=True)
class Task:
    """Images of one task.

    Attributes
    ----------
    X : ndarray of shape (n, d), float64
        Pixels, smoothed if the settings say so, scaled to unit length; images of one class in the order of
        the dataset, deformed copies after all images.
    raw : ndarray of shape (m, d), float64
        Pixels of the m images as they are, scaled to unit length.
    y : ndarray of shape (n,)
        Class codes of the dataset.
    origin : ndarray of shape (n,)
        Number of the row of which a row is a deformed copy; its own number for an image of the dataset.
    classes : list of str
        Names by code.
    """

    X: np.ndarray
    raw: np.ndarray
    y: np.ndarray
    origin: np.ndarray
    classes: list[str]

    @property
    def drawn(self) -> np.ndarray:
        """Which rows are images of the dataset, not copies."""
        return self.origin == np.arange(len(self.origin))


def draw_tasks(trial: Trial) -> tuple[Task, Task]:
    """Draw the source and the target task with the trial's seed.

    Returns
    -------
    source, target : Task

    Raises
    ------
    ValueError
        If a pool has too few classes, the images have another size than the settings say, the dataset is
        sparse or multilabel, or a class to exclude does not exist.
    """
    settings: Settings = trial.settings
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
    codes = [code for code in source_pool.codes if own.classes[code] not in settings.exclude]
    sources = _draw_classes(codes, settings.source_classes, "source", generator)
    taken = sources if settings.target is None else []
    codes = [code for code in target_pool.codes if code not in taken]
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
    settings: Settings,
    deformation: Deformation | None,
    generator: np.random.Generator,
) -> Task:
    pixels = pool.take(rows)
    if settings.image is None:
        seen, n_copies = pixels, 0
    else:
        seen, n_copies = _seen(pixels, settings, settings.image, deformation, generator)
    y, origin = (np.tile(values, 1 + n_copies) for values in (pool.y[rows], np.arange(len(rows))))
    return Task(normalize(seen), normalize(pixels), y, origin, pool.classes)


def _seen(
    pixels: np.ndarray,
    settings: Settings,
    size: tuple[int, int],
    deformation: Deformation | None,
    generator: np.random.Generator,
) -> tuple[np.ndarray, int]:
    """Return what methods see of the images, copies after all images, and how many copies there are."""
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
