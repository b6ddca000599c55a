"""The user's own catalogue, beside the suites that use it."""

from pathlib import Path

from eigenbench.datasets.catalogue import Catalogue, load_catalogue

#: Its name in the folder of the suites; no suite can have it.
OWN_CATALOGUE = "datasets.yaml"


def own_catalogue(suites_dir: Path) -> Path | None:
    """Return the path of the catalogue in a folder of suites, None where there is none."""
    path = suites_dir / OWN_CATALOGUE
    return path if path.is_file() else None


def load_with_own(suites_dir: Path) -> Catalogue:
    """Return the catalogue that comes with eigenbench together with that of a folder of suites.

    A name that both have means the folder's own dataset.

    Parameters
    ----------
    suites_dir : Path
        Folder of suite files.

    Raises
    ------
    CatalogueError
        As `load_catalogue` raises it.
    """
    path = own_catalogue(suites_dir)
    if path is None:
        return load_catalogue()
    own = load_catalogue(path)
    return own.model_copy(update={"datasets": {**load_catalogue().datasets, **own.datasets}})
