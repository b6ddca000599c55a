"""Get a dataset of the catalogue: fetched, prepared and opened."""

import os

from eigenbench.datasets.dataset import Dataset, open_prepared
from eigenbench.datasets.preparing import prepare
from eigenbench.datasets.storage import prepared_folder, resolve_data_dir
from eigenbench.datasets.up_to_date import is_current


def load(name: str, *, data_dir: str | os.PathLike[str] | None = None, split_seed: int = 0) -> Dataset:
    """Return a dataset of the catalogue, fetched and prepared when it isn't yet.

    Parameters
    ----------
    name : str
        Dataset name, see ``eigenbench list datasets``.
    data_dir : path-like, optional
        Default: ``$EIGENBENCH_DATA``, else the user's cache folder.
    split_seed : int, default=0
        Draws the split of a dataset without an official one; ignored by the others.

    Returns
    -------
    Dataset
        See `open_prepared`.

    Raises
    ------
    DatasetError
        As `prepare` and `open_prepared` raise them.

    Examples
    --------
    >>> from eigenbench.datasets import load
    >>> load("digits")
    Dataset('digits', train (1347, 64), test (450, 64), 10 classes)
    """
    if not is_current(name, data_dir):
        prepare(name, data_dir=data_dir)
    return open_prepared(prepared_folder(resolve_data_dir(data_dir), name), split_seed=split_seed)
