"""Sums over partitions are those of one pass, wherever they lie and whoever reads them."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal

from eigenbench import (
    GEM,
    CalibratedLeastSquares,
    ClassMoments,
    FisherLDA,
    PerClassPCA,
    Rembrandt,
    SecondOrderLogistic,
    SignedPowers,
)
from eigenbench.methods.linalg.partition_files import PartitionError
from eigenbench.methods.linalg.partitions import Partitions
from eigenbench.methods.moments import PooledMoments, StreamedMoments

pytestmark = pytest.mark.workflow

N, D, N_PARTS = 600, 5, 12


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 6, N)
    y[:7] = 99  # a class that only the first partition has
    return rng.integers(-5, 6, size=(N, D)) + np.eye(6, D)[y % 6], y


@pytest.fixture(scope="module")
def expected(rows):
    return ClassMoments().update(*rows)


def cuts():
    return np.split(np.arange(N), N_PARTS)


def assert_same(found, expected):
    assert_array_equal(found.classes.astype(expected.classes.dtype), expected.classes)
    assert_array_equal(found.counts, expected.counts)
    assert_allclose(found.sums, expected.sums)
    assert_allclose(found.second_moments, expected.second_moments)


@pytest.fixture
def parquet(rows, tmp_path):
    X, y = rows
    for number, part in enumerate(cuts()):
        table = pd.DataFrame(X[part], columns=list("abcde"))
        table.insert(2, "label", y[part])
        table.to_parquet(tmp_path / f"part-{number:02d}.parquet", index=False)
    return tmp_path


@pytest.fixture
def arrays(rows, tmp_path):
    X, y = rows
    for number, part in enumerate(cuts()):
        np.save(tmp_path / f"part-{number:02d}.npy", np.column_stack([X[part], y[part]]))
    return tmp_path


def test_blocks_in_any_iterable(rows, expected):
    X, y = rows
    assert_same(ClassMoments.of_partitions((X[part], y[part]) for part in cuts()), expected)
    assert_same(ClassMoments.of_partitions([(X[part], y[part].tolist()) for part in cuts()]), expected)


def test_parquet_files(parquet, expected):
    (parquet / "notes.txt").write_text("not a partition")
    found = ClassMoments.of_partitions(parquet, target="label")
    assert_same(found, expected)
    assert found.classes.dtype.kind == "i"
    assert_same(ClassMoments.of_partitions(f"file://{parquet}", target="label"), expected)


def test_string_labels_and_blocks_within_a_file(parquet, rows, expected, monkeypatch):
    for path in parquet.glob("*.parquet"):
        table = pd.read_parquet(path)
        table["label"] = "class " + table["label"].astype(str).str.zfill(2)
        table.to_parquet(path, index=False)
    monkeypatch.setattr("eigenbench.methods.linalg.partition_files.BLOCK_BYTES", 8 * D * 7)
    found = ClassMoments.of_partitions(str(parquet), target="label")
    assert found.classes.tolist() == [f"class {label:02d}" for label in expected.classes]
    assert_allclose(found.second_moments, expected.second_moments)


def test_npy_files(arrays, expected):
    assert_same(ClassMoments.of_partitions(arrays), expected)
    assert_same(ClassMoments.of_partitions(f"file://{arrays}", target=D), expected)


def test_files_in_an_object_store(rows, expected):
    fsspec = pytest.importorskip("fsspec")
    X, y = rows
    store = fsspec.filesystem("memory")
    for number, part in enumerate(cuts()):
        with store.open(f"/moments/{number:02d}.npy", "wb") as stream:
            np.save(stream, np.column_stack([X[part], y[part]]))
    assert_same(ClassMoments.of_partitions("memory://moments"), expected)
    store.rm("/moments/03.npy")
    partitions = Partitions.of("memory://moments")
    store.rm("/moments/05.npy")
    with pytest.raises(FileNotFoundError, match=r"05\.npy is missing"):
        ClassMoments.of_partitions(partitions)


def dask_collections(rows):
    array = pytest.importorskip("dask.array")
    frame = pytest.importorskip("dask.dataframe")
    X, y = rows
    table = pd.DataFrame(X, columns=list("abcde")).assign(label=y)
    pair = array.from_array(X, chunks=(50, D)), array.from_array(y, chunks=50)
    return pair, frame.from_pandas(table, npartitions=7)


def test_dask_collections(rows, expected):
    pair, frame = dask_collections(rows)
    assert_same(ClassMoments.of_partitions(pair), expected)
    assert_same(ClassMoments.of_partitions(frame, target="label"), expected)
    with pytest.raises(PartitionError, match="rechunk"):
        ClassMoments.of_partitions((pair[0], pair[1].rechunk(60)))
    with pytest.raises(PartitionError, match="'z' is not a column"):
        ClassMoments.of_partitions(frame, target="z")


def test_what_is_made_of_moments(parquet, rows):
    X, y = rows
    partitions = Partitions.of(parquet, target="label")
    few = StreamedMoments.of_partitions(partitions, megabytes=3 * 8 * D * (D + 1) / 2 / 2**20)
    for method in (GEM(top=2), PerClassPCA(n_components=1), FisherLDA(), Rembrandt(3, random_state=0)):
        whole = method.fit(X, y).transform(X)
        sources = (
            [few] if isinstance(method, GEM | PerClassPCA) else [few, PooledMoments.of_partitions(partitions)]
        )
        for moments in sources:
            assert_allclose(method.fit_moments(moments).transform(X), whole, atol=1e-6)


def test_features_are_made_piece_by_piece(parquet, rows):
    X, y = rows
    powers = SignedPowers().fit(X)
    found = ClassMoments.of_partitions(parquet, powers, target="label")
    assert_allclose(found.second_moments, ClassMoments.of(powers.transform(X), y).second_moments)


def rewrite(path, change):
    table = pd.read_parquet(path)
    change(table).to_parquet(path, index=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="b"), r"part-04.*\['b'\] are missing"),
        (lambda t: t.assign(z=1.0), r"part-04.*\['z'\] are new"),
        (lambda t: t.assign(b=t["b"].astype("float32")), "part-04.*column 'b' has type float, and double"),
        (lambda t: t.assign(label=t["label"].astype(str)), "part-04.*column 'label' has type"),
        (lambda t: t.assign(b=t["b"].where(t.index > 3)), "part-04.*'b' has empty places"),
        (lambda t: t.assign(b=np.inf), "part-04.*infinity"),
    ],
)
def test_a_partition_of_another_kind_is_named(parquet, change, message):
    rewrite(parquet / "part-04.parquet", change)
    with pytest.raises(PartitionError, match=message):
        ClassMoments.of_partitions(parquet, target="label")


def test_the_order_of_columns_does_not_matter(parquet, expected):
    rewrite(parquet / "part-04.parquet", lambda t: t[t.columns[::-1]])
    assert_same(ClassMoments.of_partitions(parquet, target="label"), expected)


def test_damaged_and_missing_files_are_named(parquet, arrays):
    with pytest.raises(PartitionError, match="one kind"):
        Partitions.of(parquet, target="label")
    for path in parquet.glob("*.npy"):
        path.unlink()
    partitions = Partitions.of(parquet, target="label")
    (parquet / "part-03.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(PartitionError, match=r"part-03.*cannot be read as Parquet"):
        ClassMoments.of_partitions(partitions)
    (parquet / "part-03.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"part-03\.parquet is missing"):
        ClassMoments.of_partitions(partitions)
    with pytest.raises(PartitionError, match="is not a folder"):
        Partitions.of(parquet / "nowhere")


def test_arrays_of_another_kind_are_named(arrays):
    path = arrays / "part-04.npy"
    whole = np.load(path)
    for bad, message in [
        (whole[:, 1:], r"part-04.*shape \(50, 5\), and the first file 6 columns"),
        (whole.astype(np.float32), "part-04.*holds float32, and the first file float64"),
        (np.array([{}]), "part-04.*cannot be read as .npy"),
    ]:
        np.save(path, bad)
        with pytest.raises(PartitionError, match=message):
            ClassMoments.of_partitions(arrays)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [([], None, "no partitions"), ([1], None, "block 0: a pair"), (7, None, "made of int")],
)
def test_sources_of_nothing_are_refused(source, target, message):
    with pytest.raises(PartitionError, match=message):
        Partitions.of(source, target=target)


def test_targets_that_are_not_there_are_named(parquet):
    with pytest.raises(
        PartitionError, match=r"part-00.*target='y' is not a column: it has \['a', 'b', 'label'"
    ):
        Partitions.of(parquet, target="y")
    rewrite(parquet / "part-00.parquet", lambda t: t.assign(a="x"))
    with pytest.raises(PartitionError, match=r"part-00.*'a \(.*string\)'\] hold no numbers"):
        Partitions.of(parquet, target="label")


@pytest.mark.parametrize(("backend", "workers"), [("threading", 3), ("loky", 2)])
def test_workers_of_any_backend(parquet, expected, backend, workers):
    with parallel_config(backend, n_jobs=workers):
        assert_same(ClassMoments.of_partitions(parquet, target="label"), expected)


@pytest.fixture
def cluster(dask_cluster):
    dask_cluster.wait_for_workers(2)
    with parallel_config("dask"):
        yield


def test_dask_collections_on_workers(cluster, rows, expected):
    pair, frame = dask_collections(rows)
    assert_same(ClassMoments.of_partitions(pair), expected)
    assert_same(ClassMoments.of_partitions(frame.persist(), target="label"), expected)


def test_two_worker_processes_give_the_moments_of_one_pass(cluster, parquet, rows, expected):
    assert_same(ClassMoments.of_partitions(parquet, target="label"), expected)
    assert_same(ClassMoments.of_partitions((rows[0][part], rows[1][part]) for part in cuts()), expected)
    few = StreamedMoments.of_partitions(parquet, target="label", megabytes=0.0005)
    found = GEM(top=1).fit_moments(few).eigenvalues_
    assert_allclose(found, GEM(top=1).fit(*rows).eigenvalues_)


@pytest.mark.parametrize(
    "classifier",
    [CalibratedLeastSquares(n_rounds=2), SecondOrderLogistic(C=1.0, early_stopping=False)],
    ids=str,
)
def test_two_worker_processes_teach_what_all_rows_do(cluster, parquet, rows, classifier):
    X, y = rows
    found = classifier.fit_partitions(parquet, target="label").predict_proba(X)
    assert_allclose(found, classifier.fit(X, y).predict_proba(X), atol=1e-5)


def test_a_worker_that_is_lost_costs_nothing_but_time(cluster, parquet, expected, tmp_path):
    marker = tmp_path / "died"

    def prepare(X, y, place):
        if place[0] == 7 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield X, y

    found = Partitions.of(parquet, target="label").sum(ClassMoments, prepare)
    assert marker.exists()
    assert_same(found, expected)


def test_a_partition_whose_worker_dies_twice_is_named(cluster, parquet, expected, tmp_path):
    deaths, moments = tmp_path / "deaths", tmp_path / "moments.npz"

    def prepare(X, y, place):
        if place[0] == 7:
            with deaths.open("ab") as stream:
                stream.write(b"x")
            os.kill(os.getpid(), signal.SIGKILL)
        yield X, y

    partitions = Partitions.of(parquet, target="label")
    with pytest.raises(PartitionError, match=r"part-07\.parquet: 2 workers died that read it"):
        partitions.sum(ClassMoments, prepare).save(moments)
    assert deaths.read_bytes() == b"xx"
    assert not list(tmp_path.glob("*moments*"))
    partitions.sum(ClassMoments).save(moments)
    assert_same(ClassMoments.load(moments), expected)


def test_an_error_on_a_worker_names_the_partition(cluster, parquet):
    rewrite(parquet / "part-04.parquet", lambda t: t.drop(columns="b"))
    with pytest.raises(PartitionError, match=r"part-04.*\['b'\] are missing"):
        ClassMoments.of_partitions(parquet, target="label")
