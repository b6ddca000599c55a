"""Files under the folder that the environment variable EIGENBENCH_MIRROR names."""

import os
from pathlib import Path

from eigenbench.datasets.catalogue import MirrorSource
from eigenbench.datasets.sources.base import SourceUnavailable


def find_in_mirror(source: MirrorSource) -> Path:
    """Return the file's path in the mirror, or raise `SourceUnavailable`."""
    mirror = os.environ.get("EIGENBENCH_MIRROR")
    if not mirror:
        raise SourceUnavailable("EIGENBENCH_MIRROR is not set")
    path = Path(mirror).expanduser().absolute() / source.mirror
    if not path.is_file():
        raise SourceUnavailable(f"no file {path}")
    if not os.access(path, os.R_OK):
        raise SourceUnavailable(f"no permission to read {path}")
    return path
