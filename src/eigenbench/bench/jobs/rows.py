"""The rows that a fit or a score is made on: the training rows, two parts of them, or the test rows."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from eigenbench.datasets.splits import holdout_split


class Rows(BaseModel):
    """Names rows of a dataset.

    Attributes
    ----------
    name : {"train", "fit", "validation", "test"}
        ``fit`` and ``validation`` are two parts of the training rows, for a search.
    split_seed : int or None
        The seed that draws the training and test rows; None where the split is official.
    fraction, seed : float and int, or None
        The share of the training rows in ``validation``, and the seed that draws them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["train", "fit", "validation", "test"]
    split_seed: int | None = None
    fraction: float | None = None
    seed: int | None = None

    @property
    def label(self) -> str:
        """A name for files, in which everything that determines the rows stands."""
        words: list[str] = [self.name]
        if self.fraction is not None:
            words.append(f"{self.fraction:g}-seed-{self.seed}")
        if self.split_seed is not None:
            words.append(f"split-{self.split_seed}")
        return "-".join(words)

    def of(self, dataset: Any) -> tuple[Any, Any]:
        """Return (X, y) of these rows of a dataset that was opened with ``split_seed``."""
        if self.name == "test":
            return dataset.X_test, dataset.y_test
        if self.name == "train":
            return dataset.X_train, dataset.y_train
        assert self.fraction is not None
        assert self.seed is not None
        fit_rows, validation_rows = holdout_split(
            dataset.y_train, self.fraction, self.seed, dataset.train_groups
        )
        if not len(validation_rows):
            raise ValueError("no class has two training rows, so that none can be held out")
        rows = fit_rows if self.name == "fit" else validation_rows
        return dataset.X_train[rows], dataset.y_train[rows]


def shard_rows(n_rows: int, shard: int, of: int) -> slice:
    """Return the rows of one of ``of`` near-equal consecutive shards; together they are all rows."""
    return slice(shard * n_rows // of, (shard + 1) * n_rows // of)
