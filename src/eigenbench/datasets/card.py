"""The card of a prepared dataset: what it is, where it came from and the hashes of everything."""

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from eigenbench.datasets.manifest import RawFileOrigin
from eigenbench.datasets.split_kinds import AnySplit
from eigenbench.datasets.strict_model import FileName, Sha256, StrictModel

CARD = "card.json"
LABEL_EDGES = "label_edges.npy"
GROUPS = "groups_all.npy"


class ArrayRecord(StrictModel):
    """One ``.npy`` file of the prepared folder, or the list of the partitions that hold the training rows.

    Attributes
    ----------
    sha256, bytes : str, int
        Of the whole file, header included. That of a list stands for the sums of the partitions in it.
    shape, dtype : tuple of int, str
        Of the array.
    """

    sha256: Sha256
    bytes: int
    shape: tuple[int, ...]
    dtype: str


class Card(StrictModel):
    """What ``card.json`` says about a prepared dataset.

    Attributes
    ----------
    n_train, n_test : int
        Rows; a random split has these sizes with every split seed.
    dtype, scale, sparse : str, float or None, bool
        How the features are stored; ``load`` divides uint8 features by ``scale``.
    classes : tuple of str
        Label names; a multiclass code or an indicator column is an index into it.
    sources : tuple of RawFileOrigin
        The raw files with their hashes and where each came from.
    arrays : dict
        The prepared files by name.
    recipe : str
        SHA-256 of everything that determines the arrays besides the raw files' sources; another recipe
        means that the dataset has to be prepared again.
    """

    name: str
    title: str
    licence: str
    citation: str
    homepage: str
    target: Literal["multiclass", "multilabel"]
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    classes: tuple[str, ...]
    dtype: Literal["float32", "uint8"]
    scale: float | None
    sparse: bool
    split: AnySplit
    sources: tuple[RawFileOrigin, ...]
    arrays: dict[FileName, ArrayRecord]
    recipe: Sha256


def read_card(folder: Path) -> Card | None:
    """Return the card of a prepared folder, or None when there is none or a damaged one."""
    try:
        return Card.model_validate_json((folder / CARD).read_bytes())
    except (OSError, ValidationError):
        return None
