"""One strict reader per file format; whatever is wrong with a file ends in `MalformedData`."""

from collections.abc import Callable, Sequence
from pathlib import Path

from eigenbench.datasets.catalogue import Entry, Part
from eigenbench.datasets.formats import (
    ArffFormat,
    GisetteFormat,
    MatFormat,
    PgmFormat,
    PrintedFormat,
    RFrameFormat,
    SpeechFormat,
    TableFormat,
    VwFormat,
)
from eigenbench.datasets.readers.arff import read_arff
from eigenbench.datasets.readers.arrays import read_arrays
from eigenbench.datasets.readers.base import Rows
from eigenbench.datasets.readers.gisette import read_gisette_rebuilt
from eigenbench.datasets.readers.hmc import read_hmc
from eigenbench.datasets.readers.idx import read_emnist, read_idx
from eigenbench.datasets.readers.letters import read_handwritten_letters
from eigenbench.datasets.readers.matlab import read_mat
from eigenbench.datasets.readers.matrix_and_labels import read_matrix_and_labels
from eigenbench.datasets.readers.multilabel_text import read_lshtc, read_xmc
from eigenbench.datasets.readers.pgm import read_pgm_tar
from eigenbench.datasets.readers.pickled_arrays import read_pickled_arrays
from eigenbench.datasets.readers.planted import read_planted_labels
from eigenbench.datasets.readers.printed import print_characters
from eigenbench.datasets.readers.r_data import read_r_frame, read_r_matrix, read_r_mldr
from eigenbench.datasets.readers.sparse_text import read_svmlight, read_vw
from eigenbench.datasets.readers.speech_corpus import read_speech_corpus
from eigenbench.datasets.readers.table import read_table

__all__ = ["Rows", "read_part"]

_PLAIN: dict[str, Callable[..., Rows]] = {
    "arrays": read_arrays,
    "idx": read_idx,
    "emnist": read_emnist,
    "hmc": read_hmc,
    "lshtc": read_lshtc,
    "matrix_and_labels": read_matrix_and_labels,
    "xmc": read_xmc,
    "handwritten_letters": read_handwritten_letters,
    "planted_labels": read_planted_labels,
}

_BOUNDED: dict[str, Callable[..., Rows]] = {
    "r_matrix": read_r_matrix,
    "r_mldr": read_r_mldr,
    "pickled_arrays": read_pickled_arrays,
}
"""Readers of compressed and of pickled files, which expand no more than the catalogue's counts need."""


def read_part(entry: Entry, part: Part, paths: Sequence[Path]) -> Rows:
    """Read the files of one part of a dataset with the reader that its catalogue entry names."""
    match entry.format:
        case TableFormat() as table:
            return read_table(*paths, delimiter=table.delimiter, label=table.label, one_hot=table.one_hot)
        case PgmFormat() as pgm:
            return read_pgm_tar(*paths, block=pgm.block)
        case VwFormat() as vw:
            return read_vw(*paths, n_features=entry.expect.features, first_index=vw.first_index)
        case ArffFormat():
            return read_arff(*paths, n_labels=entry.expect.classes)
        case MatFormat() as mat:
            return read_mat(*paths, features=mat.features, labels=mat.labels, image=mat.image)
        case SpeechFormat() as speech:
            subset = speech.test_speakers if part == "test" else "train"
            return read_speech_corpus(*paths, subset=subset)
        case GisetteFormat() as gisette:
            return read_gisette_rebuilt(*paths, seed=gisette.seed)
        case PrintedFormat() as printed:
            return print_characters(*paths, style=printed, alphabet=getattr(printed, part))
        case RFrameFormat() as frame:
            n_values = sum(entry.expect.rows.values()) * (entry.expect.features + 2)
            return read_r_frame(
                *paths, label=frame.label, part_column=frame.part, part=part, n_values=n_values
            )
    expect = entry.expect
    if entry.format.reader in _BOUNDED:
        n_columns = expect.features + (expect.classes if entry.target == "multilabel" else 1)
        return _BOUNDED[entry.format.reader](*paths, n_values=expect.rows[part] * n_columns)
    if entry.format.reader == "svmlight":
        return read_svmlight(*paths, n_features=expect.features)
    return _PLAIN[entry.format.reader](*paths)
