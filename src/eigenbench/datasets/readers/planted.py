"""SYNTHETIC documents with planted labels, made from a recipe."""

from pathlib import Path

import numpy as np
from pydantic import ValidationError

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.planted_labels import PlantedLabels
from eigenbench.datasets.readers.raw_rows import RawRows


def read_planted_labels(path: Path) -> RawRows:
    """Make the rows of a JSON recipe of `PlantedLabels`; labels are a uint8 indicator, also one a row."""
    try:
        recipe = PlantedLabels.model_validate_json(path.read_bytes())
    except ValidationError as error:
        problem = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise MalformedData(path.name, "recipe", problem) from error
    X, Y = recipe.make()
    return RawRows(X, Y.astype(np.uint8))
