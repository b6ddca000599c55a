"""How rows are divided into training and test rows: the kinds that the catalogue and a card can name."""

from typing import Annotated, Any, ClassVar, Literal

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

    Attributes
    ----------
    test_fraction : float
        Share of the rows, in (0, 1).
    stratify : bool
        Take that share of each class, and of each class its share of ``max_train`` and ``max_test``.
    max_train, max_test : int, optional
        Use no more rows than these, the first of the permutation's training rows and of its test rows.
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

    Attributes
    ----------
    max_train, max_test : int
        Most rows to draw of each file.
    stratify : bool
        Draw of each class its share of them.
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

    Attributes
    ----------
    n_folds : int
        Number of folds.
    stratify : bool
        Share the rows of each class out evenly.
    grouped : bool
        Keep rows of one group in one fold; the reader gives the groups.
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
