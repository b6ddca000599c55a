"""Suites, catalogues and files of the user's own, damaged at random: a result or one sentence, no traceback.

``EIGENBENCH_FUZZ=10 pytest -m slow tests/test_fuzz.py`` takes ten times as many.
"""

import gzip
import io
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.suites.component_checks import check_parameters
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets import CatalogueError, load_catalogue
from eigenbench.datasets.catalogue import default_catalogue_path
from eigenbench.own_data.files import read_user_file
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.table import OwnDataError

pytestmark = pytest.mark.slow

TIMES = int(os.environ.get("EIGENBENCH_FUZZ", "1"))
CATALOGUE = default_catalogue_path()
SUITES = [path.read_bytes() for path in sorted((CATALOGUE.parent / "suites").glob("*.yaml"))]

#: What YAML, tables and archives trip over.
TOKENS = st.sampled_from(
    [
        *"{}[]:,-#&*!|>%@`\"'~?=\\\x00",
        *("<<:", "&a", "*a", "!!python/name:os.system", "---", "...", "null", "true", "seeds", "all", '""'),
        *("1e999", ".nan", "-1", "010", "9" * 30, "1:30", "2026-01-01", "NaN", "inf", "../../x"),
        *("\ufeff", "\x1b[2J", "\u202e"),
    ]
).map(lambda token: f" {token}\n".encode()) | st.binary(max_size=6)


@st.composite
def damaged(draw, contents):
    """A valid file with pieces taken out, put in, doubled, or moved."""
    data = draw(st.sampled_from(contents))
    for _ in range(draw(st.integers(1, 4))):
        start, end = sorted(draw(st.tuples(*2 * [st.integers(0, len(data))])))
        end = min(end, start + draw(st.integers(0, 200)))
        put = draw(TOKENS | st.just(b"") | st.just(data[start:end] * 2))
        data = data[:start] + put + data[end:]
    return data


def many(examples):
    return settings(max_examples=examples * TIMES, suppress_health_check=list(HealthCheck))


def one_sentence_each(error):
    lines = str(error).splitlines()
    assert lines
    assert all(line.strip() for line in lines)
    assert len(str(error)) < 20_000


@many(600)
@given(data=damaged(SUITES))
def test_a_damaged_suite(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "sample.yaml"
    path.write_bytes(data)
    try:
        suite = load_suite(path, sorted(load_catalogue().datasets))
        check_parameters(suite, path)
        plan_suite(suite, load_catalogue())
    except SuiteError as error:
        one_sentence_each(error)


@many(300)
@given(data=damaged([CATALOGUE.read_bytes()]))
def test_a_damaged_catalogue(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "datasets.yaml"
    path.write_bytes(data)
    try:
        load_catalogue(path)
    except CatalogueError as error:
        one_sentence_each(error)


def own_files():
    """Return a small file of each kind that `compare` takes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=30).round(3), "b": list("xyz") * 10, "y": list("pq") * 15})
    files = {"csv": frame.to_csv(index=False).encode(), "tsv": frame.to_csv(index=False, sep="\t").encode()}
    files["csv.gz"] = gzip.compress(files["csv"])
    for kind, write in {
        "parquet": frame.to_parquet,
        "feather": frame.to_feather,
        "jsonl": lambda stream: frame.to_json(stream, orient="records", lines=True),
        "npz": lambda stream: np.savez(stream, X=frame[["a"]].to_numpy(), y=frame["y"].to_numpy(str)),
        "svm": lambda stream: dump_svmlight_file(
            csr_array(frame[["a"]].to_numpy()), (frame["y"] == "p").astype(int), stream
        ),
    }.items():
        write(stream := io.BytesIO())
        files[kind] = stream.getvalue()
    rows = "\n".join(f"{a},{b},{y}" for a, b, y in frame.itertuples(index=False))
    files["arff"] = (
        "@relation r\n@attribute a numeric\n@attribute b {x,y,z}\n@attribute y {p,q}\n@data\n" + rows
    ).encode()
    return files


OWN = own_files()


def problem_of(path):
    target = [] if path.suffix in (".npz", ".svm") else ["y"]
    return make_problem(read_user_file(path, target))


def test_a_name_of_a_column_is_printable_in_a_message(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"\x01\x0b\x1b[2Ja,b\n" + 9 * b"1,2\n")
    with pytest.raises(OwnDataError, match=r"There are: .x01.x0b.x1b\[2Ja, b$"):
        problem_of(path)


@pytest.mark.parametrize("kind", OWN)
def test_damaged_files_of_the_user(tmp_path_factory, kind):
    path = tmp_path_factory.mktemp("own") / f"data.{kind}"
    path.write_bytes(OWN[kind])
    assert problem_of(path).matrix.shape[0] == 30

    @many(500)
    @given(data=damaged([OWN[kind]]))
    def check(data):
        path.write_bytes(data)
        try:
            problem_of(path)
        except OwnDataError as error:
            one_sentence_each(error)

    check()
