"""Each kind of file that runs leave, damaged in each way: noticed, named, and set aside to be made again."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from small_jobs import Jobs, plan_of

from eigenbench.bench.jobs.outputs import OutputStates
from eigenbench.bench.records.record import read_record_and_files
from eigenbench.bench.records.sealed_json import DamagedFileError, read_sealed, write_sealed
from eigenbench.datasets import load_catalogue, prepare
from eigenbench.datasets.card import verify_prepared
from eigenbench.datasets.errors import MalformedData
from eigenbench.reproduction.receipt import Receipt, read_receipt, write_receipt
from eigenbench.reproduction.reference import ReproductionError

CLASSIFIER = "CalibratedLeastSquares"
RUN = f"results/s/main/random/seed-0/{CLASSIFIER}"

#: The kinds of files, each with the sealed file that Snakemake asks about, and what reads it.
FILES = {
    f"{RUN}/record.json": ("record.json", read_record_and_files),
    f"{RUN}/model.skops": ("record.json", lambda path: read_record_and_files(path, "model.skops")),
    f"{RUN}/predictions.npz": ("record.json", lambda path: read_record_and_files(path, "predictions.npz")),
    "data/prepared/digits.json": ("digits.json", read_sealed),
    "data/prepared/digits/card.json": ("../digits.json", lambda path: verify_prepared(path.with_suffix(""))),
    "data/prepared/digits/X_all.npy": ("../digits.json", lambda path: verify_prepared(path.with_suffix(""))),
    "data/prepared/digits/y_all.npy": ("../digits.json", lambda path: verify_prepared(path.with_suffix(""))),
    "reports/receipts/s-machine.json": ("s-machine.json", read_receipt),
}


def flipped(content, place):
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


DAMAGES = {
    "emptied": lambda content: b"",
    "one byte": lambda content: content[:1],
    "half": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-1],
    "without its beginning": lambda content: content[1:],
    "one byte longer": lambda content: content + b"\0",
    "one line longer": lambda content: content + b"\n",
    "twice": lambda content: content + content,
    "first bit": lambda content: flipped(content, 0),
    "middle bit": lambda content: flipped(content, len(content) // 2),
    "bit near the end": lambda content: flipped(content, -3),
    "two bits": lambda content: flipped(flipped(content, len(content) // 3), -len(content) // 3),
    "middle cut out": lambda content: content[: len(content) // 3] + content[-len(content) // 3 :],
    "halves exchanged": lambda content: content[len(content) // 2 :] + content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
    "another file": lambda content: os.urandom(len(content)),
    "reversed": lambda content: content[::-1],
    "byte order mark": lambda content: b"\xef\xbb\xbf" + content,
    "an empty object": lambda content: b"{}",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with a file of each kind, as a run leaves them."""
    root = tmp_path_factory.mktemp("whole")
    card = prepare("digits", data_dir=root / "data", progress=False)
    state = {"dataset": "digits", "status": "ok", "failure": None, "card": card.model_dump(mode="json")}
    write_sealed(root / "data/prepared/digits.json", state)
    assert Jobs(root / "data", root).run(plan_of())[CLASSIFIER].status == "ok"
    receipt = Receipt(
        suite="s", reference="0" * 64, eigenbench="0", made="2026-01-01", environments=[], runs=[]
    )
    write_receipt(receipt, root / "reports/receipts").rename(root / "reports/receipts/s-machine.json")
    return root


def planned(root, report):
    """What Snakemake is told of a file that is planned: not empty where it is made again; and the states."""
    states = OutputStates(root / "results", root / "data", load_catalogue(), stored=False)
    if report.name == "digits.json":
        return states.of_dataset("digits"), states
    return json.loads(states.of(str(report))).get(str(report), ""), states


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_noticed_named_and_made_again(whole, tmp_path, name):
    root = Path(shutil.copytree(whole, tmp_path / "copy"))
    sealed, read = FILES[name]
    path = root / name
    report, aside = (path.parent / sealed).resolve(), path.with_name(f"{path.name}.refused")
    contents = {file: file.read_bytes() for file in {path, report}}
    for damage, change in DAMAGES.items():
        assert not planned(root, report)[0], "nothing is damaged yet"
        path.write_bytes(change(contents[path]))
        token, states = planned(root, report)
        if token:  # before any run
            said = " ".join(states.set_aside())
        else:  # of the same size: by whoever reads it
            with pytest.raises((DamagedFileError, MalformedData, ReproductionError)) as error:
                read(report if report.parent == path.parent else path.parent / "x")
            said = str(error.value)
        assert path.name in said or "digits: its prepared data" in said, (damage, said)
        if sealed == "record.json":
            assert not path.exists(), (damage, "it is set aside")
            assert aside.exists(), damage
        for file, content in contents.items():
            file.with_name(f"{file.name}.refused").unlink(missing_ok=True)
            file.write_bytes(content)


def test_every_file_of_a_run_is_among_them(whole):
    kinds = {path.name for path in whole.rglob("*") if path.is_file()}
    others = {"job.log", "card.sha256", "manifest.json", "digits.csv"}
    assert kinds - {path.rpartition("/")[2] for path in FILES} <= others
    assert np.load(whole / "data/prepared/digits/X_all.npy").shape[0] == 1797
