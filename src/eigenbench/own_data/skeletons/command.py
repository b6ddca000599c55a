"""The command ``eigenbench new``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbench.own_data.skeletons.kinds import Kind

Folder = Annotated[Path, typer.Option(help="Folder of your suites, datasets and parts.")]


def new(
    kind: Annotated[Kind, typer.Argument(help="What to begin.")],
    name: Annotated[str, typer.Argument(help="Its name: small letters, digits, underscores.")],
    folder: Folder = Path(),
) -> None:
    """Begin a method, dataset, suite or protocol of your own: a file that works, and its test.

    No file that is there is changed, but for a catalogue, to which a dataset is added.
    """
    from eigenbench.own_data.skeletons.writing import write_skeleton

    for path in write_skeleton(kind, name, folder):
        typer.echo(path)
