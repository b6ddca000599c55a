"""One strict reader per file format; whatever is wrong with a file ends in `MalformedData`."""

from collections.abc import Sequence
from pathlib import Path

from eigenbench.datasets.catalogue import ArffFormat, Entry, TableFormat, VwFormat
from eigenbench.datasets.readers.arff import read_arff
from eigenbench.datasets.readers.base import Matrix, Rows
from eigenbench.datasets.readers.idx import read_idx
from eigenbench.datasets.readers.pgm import read_pgm_tar
from eigenbench.datasets.readers.pickled_arrays import read_pickled_arrays
from eigenbench.datasets.readers.r_data import read_r_matrix, read_r_mldr
from eigenbench.datasets.readers.sparse_text import read_svmlight, read_vw
from eigenbench.datasets.readers.table import read_table

__all__ = ["Matrix", "Rows", "read_part"]


def read_part(entry: Entry, paths: Sequence[Path]) -> Rows:
    """Read the files of one part of a dataset with the reader that its catalogue entry names."""
    match entry.format:
        case TableFormat() as table:
            return read_table(*paths, delimiter=table.delimiter, label=table.label)
        case VwFormat() as vw:
            return read_vw(*paths, n_features=entry.expect.features, first_index=vw.first_index)
        case ArffFormat():
            return read_arff(*paths, n_labels=entry.expect.classes)
    match entry.format.reader:
        case "idx":
            return read_idx(*paths)
        case "svmlight":
            return read_svmlight(*paths, n_features=entry.expect.features)
        case "pgm_tar":
            return read_pgm_tar(*paths)
        case "r_matrix":
            return read_r_matrix(*paths)
        case "r_mldr":
            return read_r_mldr(*paths)
        case "pickled_arrays":
            return read_pickled_arrays(*paths)
