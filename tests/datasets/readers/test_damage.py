"""Whatever the bytes of a file, a reader gives rows with labels, or raises MalformedData."""

import io
from functools import partial

import numpy as np
import pytest
from damage import damaged, reads_or_complains
from hypothesis import given
from hypothesis import strategies as st
from sounds import riff, sphere

from eigenbench.datasets.archives import pack_tar
from eigenbench.datasets.readers.arff import read_arff, read_hmc
from eigenbench.datasets.readers.arrays import read_arrays
from eigenbench.datasets.readers.delimited import read_matrix_and_labels, read_table
from eigenbench.datasets.readers.sparse_text import read_lshtc, read_svmlight, read_vw, read_xmc
from eigenbench.datasets.readers.speech_corpus import read_speech_corpus

ATTRIBUTES = b"@attribute f1 real\n@ATTRIBUTE 'f 2' {0,1}\n@attribute L1 {0,1}\n@attribute L2 {0, 1}\n@data\n"
HIERARCHY = (
    b"@relation 'x'\n\n% a comment\n@attribute a real\n@attribute b {w, c}\n@attribute class hierarchical "
)
SOUND = np.array([0, 1, -2, 32767, -32768] * 160, dtype=np.int16)


def npz(save):
    content = io.BytesIO()
    save(content, X=np.eye(3), y=np.arange(3))
    return content.getvalue()


def corpus(write):
    name = "timit/train/dr1/fcjf0/si1"
    return pack_tar({f"{name}.wav": write(SOUND), f"{name}.phn": b"0 300 h#\n300 800 sh\n", "x": b""}.items())


def matrix(path):
    labels = path.with_name("labels")
    labels.write_bytes(b"1\n-1\n")
    return read_matrix_and_labels(path, labels)


speech = partial(read_speech_corpus, part="train", test_speakers="core_test")
FILES = {
    "arff": (partial(read_arff, n_labels=2), ATTRIBUTES + b"{0 1.5,3 1}\n{1 1,2 1}\n"),
    "arrays": (read_arrays, npz(np.savez)),
    "compressed arrays": (read_arrays, npz(np.savez_compressed)),
    "graph": (read_hmc, HIERARCHY + b"root/A,root/B,A/C,B/C\n@data\n1,w,C\n2,c,A@B\n"),
    "lshtc": (read_lshtc, b"Data\n545, 32 8:1 18:2\n7 8:.5\n"),
    "matrix": (matrix, b"550 0 495 \n0 0 999 \n"),
    "riff": (speech, corpus(riff)),
    "sphere": (speech, corpus(partial(sphere, size=256))),
    "svmlight": (partial(read_svmlight, n_features=5), b"+1 1:0.5 3:1 \n-1 \n-1 2:1e3 5:-1\n"),
    "table": (read_table, b"1,2.5,a\n-3,4e2,b\n5,6,a\n"),
    "tree": (read_hmc, HIERARCHY + b"01,01/01,01/02,02\n@data\n1.5,w,01/01@02\n?,c,01\n-3e1,?,01/02\n"),
    "vw": (partial(read_vw, n_features=5, first_index=1), b"796 | 1:4 3:4\n12 | 5:1.5 \n"),
    "xmc": (read_xmc, b"3 5 4\n0,2 1:0.5 4:1\n 0:2\n3 \n"),
}


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_a_damaged_file_gives_rows_or_complains(name, data):
    reader, valid = FILES[name]
    reads_or_complains(reader, data.draw(damaged(valid)))
