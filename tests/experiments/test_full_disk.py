"""Records and models on a full disk: whole or absent, and what was there before stays."""

from __future__ import annotations

import errno
import resource
import signal

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from eigenbench.atomic_files import write_json
from eigenbench.experiments.model_file import load_model, save_model


@pytest.fixture
def full_disk():
    """Let the operating system refuse files over 100 bytes, as a full quota would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill(full):
        resource.setrlimit(resource.RLIMIT_FSIZE, (100 if full else soft, hard))

    yield fill
    fill(False)
    signal.signal(signal.SIGXFSZ, previous)


@pytest.mark.parametrize("there_before", [False, True])
def test_nothing_half_written_is_left(tmp_path, full_disk, there_before):
    model = LogisticRegression().fit(np.eye(4), [0, 0, 1, 1])
    files = {tmp_path / "model.skops": lambda path: save_model(path, model)}
    files[tmp_path / "record.json"] = lambda path: write_json(path, {"values": list(range(99))})
    if there_before:
        for path, write in files.items():
            write(path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    full_disk(True)
    for path, write in files.items():
        with pytest.raises(OSError) as raised:
            write(path)
        assert raised.value.errno in (errno.EFBIG, errno.ENOSPC)
    full_disk(False)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    for path, write in files.items():
        write(path)
    np.testing.assert_array_equal(load_model(tmp_path / "model.skops").coef_, model.coef_)
