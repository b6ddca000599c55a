"""Data that an installed program makes on the spot."""

from pathlib import Path

from eigenbench.datasets.source_kinds import SynthesisedSource
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea


def synthesise_data(source: SynthesisedSource, staging: StagingArea) -> Path:
    """Make the data in the staging area and return its path, or raise `SourceUnavailable`."""
    from eigenbench.datasets.speech.synthetic_corpus import synthesise

    path = staging.folder / f"{source.synthesised}.tar"
    staging.say("synthesising speech, which takes about two minutes")
    try:
        synthesise(path)
    except ImportError as error:
        raise SourceUnavailable(f"{error}: pip install 'eigenbench[speech]'") from error
    except RuntimeError as error:
        raise SourceUnavailable(str(error)) from error
    return path
