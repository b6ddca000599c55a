"""Divisions into training and test rows, reproducible from the seed and the rows alone."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from eigenbench.datasets.strict_model import StrictModel

RowCount = Annotated[int, Field(gt=0)]


class OfficialSplit(StrictModel):
    """The publisher's files for training and test."""

    drawn: ClassVar[bool] = False
    kind: Literal["official"] = "official"

    def __str__(self) -> str:
        return "official"


class FirstSplit(StrictModel):
    """The first ``n_train`` rows are the training set, the others the test set; rows keep their order."""

    drawn: ClassVar[bool] = False
    kind: Literal["first"]
    n_train: RowCount

    def __str__(self) -> str:
        return "official"


class RandomSplit(StrictModel):
    """A random permutation drawn from the split seed; its end is the test set.

    ``test_fraction`` is rounded to the nearest number of rows, at least 1. With ``stratify`` it is taken of
    each class, and each class has its share of ``max_train`` and ``max_test``, the most rows to use: the
    first of the permutation's training rows and of its test rows.
    """

    drawn: ClassVar[bool] = True
    kind: Literal["random"]
    test_fraction: Annotated[float, Field(gt=0, lt=1)]
    stratify: bool = False
    max_train: RowCount | None = None
    max_test: RowCount | None = None

    @model_serializer(mode="wrap")
    def _without_absent_sizes(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Keep the sums over splits without sizes what they were before there were sizes."""
        return {key: value for key, value in serialise(self).items() if value is not None}

    def __str__(self) -> str:
        strata = "of each class" if self.stratify else "of the rows"
        sizes = zip(("training", "test"), (self.max_train, self.max_test), strict=True)
        limits = "".join(f", at most {size:,} {part} rows" for part, size in sizes if size is not None)
        return f"{self.test_fraction:.3g} {strata} for the test{limits}, drawn by the seed"


class SampledSplit(StrictModel):
    """Rows of the publisher's training file and of the test file, drawn from the split seed.

    At most ``max_train`` and ``max_test`` are drawn; with ``stratify``, of each class its share of them.
    """

    drawn: ClassVar[bool] = True
    kind: Literal["sampled"]
    max_train: RowCount
    max_test: RowCount
    stratify: bool = False

    def __str__(self) -> str:
        strata = ", each class its share" if self.stratify else ""
        sizes = f"at most {self.max_train:,} training and {self.max_test:,} test rows"
        return f"{sizes} of the official files{strata}, drawn by the seed"


class FoldSplit(StrictModel):
    """Folds of a cross-validation: split seed ``r * n_folds + f`` tests on fold ``f`` of repetition ``r``.

    ``stratify`` shares the rows of each class out evenly; ``grouped`` keeps rows of one group, which the
    reader gives, in one fold.
    """

    drawn: ClassVar[bool] = True
    kind: Literal["folds"]
    n_folds: Annotated[int, Field(ge=2)]
    stratify: bool = False
    grouped: bool = False

    def __str__(self) -> str:
        strata = ", each class shared out evenly" if self.stratify else ""
        groups = ", groups kept whole" if self.grouped else ""
        return f"one of {self.n_folds} folds for the test{strata}{groups}, drawn by the seed"


AnySplit = Annotated[
    OfficialSplit | FirstSplit | RandomSplit | SampledSplit | FoldSplit, Field(discriminator="kind")
]


def draw_split(
    split: RandomSplit | SampledSplit | FoldSplit,
    seed: int,
    *targets: np.ndarray,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the training and test rows of a split, by numpy's PCG64 generator of the seed.

    ``targets`` are those of all rows for a random split or folds, those of the training and of the test file
    for a sampled one; ``groups`` are the group of each row, for grouped folds. Row numbers are in the order
    drawn or, of folds, ascending. Their counts don't depend on the seed, but for those of folds, which differ
    by at most 1, or more where groups are kept whole.
    """
    strata = targets if split.stratify else (None,) * len(targets)
    if isinstance(split, FoldSplit):
        return fold_split(
            targets[0].shape[0], split.n_folds, seed, strata[0], groups if split.grouped else None
        )
    if isinstance(split, RandomSplit):
        parts: tuple[np.ndarray, ...] = _random_split(
            targets[0].shape[0], split.test_fraction, seed, strata[0]
        )
        strata *= 2  # both parts are rows of the one table
    else:
        generator = np.random.Generator(np.random.PCG64(seed))
        parts = tuple(generator.permutation(target.shape[0]) for target in targets)
    train, test = (
        rows[_first(most, len(rows), None if codes is None else codes[rows])]
        for rows, codes, most in zip(parts, strata, (split.max_train, split.max_test), strict=True)
    )
    return train, test


def _random_split(
    n: int, test_fraction: float, seed: int, strata: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Cut the end of a permutation of the rows off as the test set; with strata, that of each class."""
    order = np.random.Generator(np.random.PCG64(seed)).permutation(n)
    codes = np.zeros(n) if strata is None else np.asarray(strata)[order]
    is_test = np.zeros(n, dtype=bool)
    for code in np.unique(codes):
        places = np.flatnonzero(codes == code)
        is_test[places[len(places) - max(1, round(len(places) * test_fraction)) :]] = True
    return order[~is_test], order[is_test]


def _first(size: int | None, n: int, codes: np.ndarray | None) -> slice | np.ndarray:
    """Return the places of the first ``size`` of ``n`` rows, with codes of the first of each class.

    Classes share the places by largest remainders: equal remainders go to the smaller code.
    """
    if size is None or size >= n:
        return slice(None)
    if codes is None:
        return slice(size)
    values, of_row, counts = np.unique(codes, return_inverse=True, return_counts=True)
    exact = counts * size
    quota = exact // n
    quota[np.argsort(-(exact % n), kind="stable")[: size - quota.sum()]] += 1
    taken = [np.flatnonzero(of_row == code)[: quota[code]] for code in range(len(values))]
    return np.sort(np.concatenate(taken))


def fold_split(
    n: int, n_folds: int, seed: int, strata: np.ndarray | None = None, groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Take one fold of a cross-validation as the test set; row numbers are ascending.

    ``seed // n_folds`` draws the folds, ``seed % n_folds`` is the one to test on: consecutive seeds from a
    multiple of ``n_folds`` on test on every row once. The rows of a class of ``strata`` are dealt out in
    turn, so that its counts in any two folds differ by at most 1; with ``groups``, whose rows are in one
    fold, as evenly as whole groups allow. Raises ValueError for fewer groups than folds.
    """
    repetition, fold = divmod(seed, n_folds)
    if groups is not None:
        return _grouped_folds(n_folds, repetition, strata, groups)[fold]
    order = np.random.Generator(np.random.PCG64([repetition, n_folds])).permutation(n)
    if strata is not None:
        order = order[np.argsort(np.asarray(strata)[order], kind="stable")]
    is_test = np.zeros(n, dtype=bool)
    is_test[order[fold::n_folds]] = True
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def _grouped_folds(
    n_folds: int, seed: int, strata: np.ndarray | None, groups: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return scikit-learn's folds of whole groups, stratified unless that leaves a fold empty."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    rows = np.empty(len(groups))
    if strata is not None and np.bincount(strata).max() >= n_folds:
        stratified = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        folds = list(stratified.split(rows, strata, groups))
        if all(len(test) for _, test in folds):
            return folds
    return list(GroupKFold(n_folds, shuffle=True, random_state=seed).split(rows, None, groups))


def nested_order(
    codes: NDArray[np.integer[Any]], n_classes: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Order training rows, whose first n have their share of each class for every n, and the classes.

    Both orders are drawn by the seed and the codes of the rows alone. So the first rows, or classes, of a
    small size are among those of a larger one.
    """
    generator = np.random.default_rng([seed, 0x1C])
    order = generator.permutation(len(codes))
    class_order = generator.permutation(n_classes)
    ordered, rank = codes[order], np.empty(len(codes))
    # The k-th of the n rows of a class comes at (k + u) / n of the whole, u being drawn for the class.
    for code in np.unique(codes):
        places = np.flatnonzero(ordered == code)
        rank[places] = (np.arange(len(places)) + generator.random()) / len(places)
    return order[np.argsort(rank, kind="stable")], class_order


def holdout_split(
    y: Any, fraction: float, seed: int, groups: np.ndarray | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split training rows at random into a part to fit on and a validation part; row numbers are sorted.

    Class labels are stratified: each class gives the same share (rounded), and always keeps at least one row
    to fit on; where all are too small to give one, the largest does. Indicator matrices and numbers are split
    without strata. Rows of one group stay together, and the shares are as even as whole groups allow. Raises
    ValueError if all rows are of one group.
    """
    if groups is not None:
        n_folds = min(round(1 / fraction), len(np.unique(groups)))
        if n_folds < 2:
            raise ValueError("the training rows are of one group, so that none can be held out")
        return _grouped_folds(n_folds, seed, y if y.ndim == 1 and y.dtype.kind != "f" else None, groups)[0]
    generator = np.random.Generator(np.random.PCG64([seed, 0x5EED]))
    held = np.zeros(y.shape[0], dtype=bool)
    classes = y.ndim == 1 and y.dtype.kind != "f"
    strata = [np.flatnonzero(y == label) for label in np.unique(y)] if classes else [np.arange(y.shape[0])]
    for rows in strata:
        held[generator.permutation(rows)[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
    largest = max(strata, key=len)
    if not held.any() and len(largest) > 1:
        held[generator.choice(largest)] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
