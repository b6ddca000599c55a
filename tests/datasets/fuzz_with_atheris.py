"""Coverage-guided fuzzing of one reader, by hand: ``pip install atheris``, then

``python tests/datasets/fuzz_with_atheris.py READER [-max_total_time=60]``. It starts from a small valid file.
"""

from __future__ import annotations

import bz2
import gzip
import io
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "readers")]

with atheris.instrument_imports(include=["eigenbench.datasets.readers", "eigenbench.datasets.archives"]):
    import numpy as np
    import scipy.io
    import sounds
    import test_arff
    import test_audio
    import test_fuzz
    import test_idx
    import test_letters
    import test_pgm
    import test_pickled_arrays
    import test_r_data

    from eigenbench.datasets import MalformedData
    from eigenbench.datasets.archives import pack_tar, zip_members
    from eigenbench.datasets.decoding import decode
    from eigenbench.datasets.readers.arff import read_arff
    from eigenbench.datasets.readers.audio import parse_phones, parse_recording
    from eigenbench.datasets.readers.idx import read_idx_array
    from eigenbench.datasets.readers.letters import _scanned, _strokes
    from eigenbench.datasets.readers.matlab import read_mat
    from eigenbench.datasets.readers.multilabel_text import read_lshtc, read_xmc
    from eigenbench.datasets.readers.pgm import read_pgm_tar
    from eigenbench.datasets.readers.pickled_arrays import unpickle_arrays
    from eigenbench.datasets.readers.printed import print_characters
    from eigenbench.datasets.readers.r_data import read_r_matrix, read_r_mldr
    from eigenbench.datasets.readers.sparse_text import read_svmlight, read_vw
    from eigenbench.datasets.readers.table import read_table
    from eigenbench.datasets.storage import HashingWriter


def of_bytes(parse):
    return lambda path: parse(path.name, path.read_bytes())


def undo(path):
    decode(path, ("gzip", "pack_tar"), HashingWriter(io.BytesIO(), "file", 1 << 16), 1 << 16)


def mat():
    content = io.BytesIO()
    scipy.io.savemat(content, {"X": np.eye(3), "Y": np.ones((3, 1), np.uint8)})
    return content.getvalue()


IMAGES = pack_tar([("a/1.pgm", test_pgm.pgm(np.full((3, 2), 10, np.uint8)))])
R_MLDR = test_r_data.r_file(t=test_r_data.mldr(test_r_data.FEATURES, test_r_data.LABELS))
PICKLED = bz2.compress(test_pickled_arrays.python2_pickle(X=np.eye(2)))
TARGETS = {
    "idx": (read_idx_array, test_idx.idx(test_idx.IMAGES)),
    "svmlight": (partial(read_svmlight, n_features=9), b"1 1:0.5 3:-2e3\n-1 2:1\n"),
    "vw": (partial(read_vw, n_features=9, first_index=0), b"1 | 0:0.5 3:-2e3\n-1 | 2:1\n"),
    "xmc": (read_xmc, b"3 5 4\n0,2 1:0.5 4:1\n 0:2\n3 \n"),
    "lshtc": (read_lshtc, b"Data\n545, 32 8:1 18:2\n7 8:.5\n"),
    "riff": (of_bytes(parse_recording), sounds.riff(test_audio.FEW)),
    "sphere": (of_bytes(parse_recording), sounds.sphere(test_audio.FEW)),
    "phones": (of_bytes(parse_phones), b"0 3050 h#\n3050 4559 sh\n"),
    "arff": (partial(read_arff, n_labels=2), test_arff.text_of(np.eye(4))),
    "pgm": (read_pgm_tar, IMAGES),
    "r_matrix": (partial(read_r_matrix, n_values=100), test_r_data.r_file(zip=test_r_data.MATRIX)),
    "r_mldr": (partial(read_r_mldr, n_values=100), R_MLDR),
    "pickled_arrays": (partial(unpickle_arrays, limit=10_000), PICKLED),
    "table": (read_table, b"1,2.5,a\n3,4,b\n"),
    "mat": (partial(read_mat, features="X", labels="Y"), mat()),
    "parquet": (_scanned, test_letters.parquet()),
    "strokes": (_strokes, b'{"a": [[[[1, 2.5], [3, 4]]]]}'),
    "font": (
        partial(print_characters, style=test_fuzz.STYLE, alphabet=test_fuzz.STYLE.train),
        test_fuzz.FONT,
    ),
    "zip": (lambda path: list(zip_members(path, "*", 1 << 16)), test_fuzz.zip_file(8)),
    "gzip_tar": (undo, gzip.compress(IMAGES)),
}


def main():
    name = sys.argv.pop(1)
    reader, valid = TARGETS[name]
    folder = Path(tempfile.mkdtemp())
    (folder / "corpus").mkdir()
    (folder / "corpus" / "valid").write_bytes(valid)
    path = folder / "file"

    def once(data):
        path.write_bytes(data)
        try:
            reader(path)
        except MalformedData:
            return

    path.write_bytes(valid)
    reader(path)
    try:
        atheris.Setup(
            [*sys.argv, "-rss_limit_mb=4096", "-artifact_prefix=/tmp/fuzz-", str(folder / "corpus")], once
        )
        atheris.Fuzz()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
