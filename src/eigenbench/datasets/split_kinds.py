"""How rows are divided into training and test rows: the kinds that the catalogue and a card can name."""

from typing import Annotated, Literal

from pydantic import Field

from eigenbench.datasets.strict_model import StrictModel


class OfficialSplit(StrictModel):
    """The publisher's files for training and test."""

    kind: Literal["official"] = "official"


class FirstSplit(StrictModel):
    """The first ``n_train`` rows are the training set, the others the test set; rows keep their order."""

    kind: Literal["first"]
    n_train: Annotated[int, Field(gt=0)]


class RandomSplit(StrictModel):
    """A random permutation drawn from the split seed; its end is the test set.

    Attributes
    ----------
    test_fraction : float
        Share of the rows, in (0, 1).
    stratify : bool
        Take that share of each class.
    """

    kind: Literal["random"]
    test_fraction: Annotated[float, Field(gt=0, lt=1)]
    stratify: bool = False


AnySplit = Annotated[OfficialSplit | FirstSplit | RandomSplit, Field(discriminator="kind")]
