"""One strict reader per file format; whatever is wrong with a file ends in `MalformedData`."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path

from eigenbench.datasets.catalogue import CatalogueEntry, Part
from eigenbench.datasets.readers.arff import read_arff, read_hmc
from eigenbench.datasets.readers.arrays import read_arrays
from eigenbench.datasets.readers.delimited import read_matrix_and_labels, read_orange_table, read_table
from eigenbench.datasets.readers.gisette import read_gisette_rebuilt
from eigenbench.datasets.readers.idx import read_emnist, read_idx
from eigenbench.datasets.readers.letters import read_handwritten_letters
from eigenbench.datasets.readers.matlab import read_mat
from eigenbench.datasets.readers.pgm import read_pgm_tar
from eigenbench.datasets.readers.pickled_arrays import read_pickled_arrays
from eigenbench.datasets.readers.planted import read_planted_labels
from eigenbench.datasets.readers.printed import read_printed
from eigenbench.datasets.readers.r_data import read_r_frame, read_r_matrix, read_r_mldr
from eigenbench.datasets.readers.raw_rows import RawRows
from eigenbench.datasets.readers.sparse_text import read_lshtc, read_svmlight, read_vw, read_xmc
from eigenbench.datasets.readers.speech_corpus import read_speech_corpus

__all__ = ["READERS", "RawRows", "read_part"]

#: The reader of each format that the catalogue can name, by the name of its function.
READERS: dict[str, Callable[..., RawRows]] = {
    reader.__name__.removeprefix("read_"): reader
    for reader in (
        *(read_arff, read_arrays, read_emnist, read_gisette_rebuilt, read_handwritten_letters),
        *(read_hmc, read_idx, read_lshtc, read_mat, read_matrix_and_labels, read_orange_table),
        *(read_pgm_tar, read_pickled_arrays, read_planted_labels, read_printed, read_r_frame),
        *(read_r_matrix, read_r_mldr, read_speech_corpus, read_svmlight, read_table, read_vw, read_xmc),
    )
}


def read_part(entry: CatalogueEntry, part: Part, paths: Sequence[Path]) -> RawRows:
    """Read the files of one part of a dataset with the reader that its catalogue entry names.

    A reader takes its format's options as keywords, or the format as ``options``. It can also ask for the
    ``part``, ``n_features`` and ``n_labels``.
    """
    reader = READERS[entry.format.reader]
    known = {
        "part": part,
        "n_features": entry.expect.features,
        "n_labels": entry.expect.classes,
        "options": entry.format,
        **{name: getattr(entry.format, name) for name in type(entry.format).model_fields},
    }
    wanted = inspect.signature(reader).parameters
    return reader(*paths, **{name: value for name, value in known.items() if name in wanted})
