"""SYNTHETIC documents: their laws, what they depend on, their recipes, and who finds what was planted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pydantic import ValidationError
from scipy import linalg, sparse

from eigenbench.datasets import load_catalogue
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.planted_labels import PlantedLabels, canonical_angles, captured_energy, recipe_of
from eigenbench.datasets.readers.planted import read_planted_labels
from eigenbench.methods.embeddings.labels.rembrandt import Rembrandt

SMALL = PlantedLabels(n_rows=9000, n_features=5000, n_labels=300, rank=10, nonzeros_per_row=40)


def variant(**changes):
    return PlantedLabels(**{**SMALL.model_dump(), **changes})


MULTILABEL = variant(labels_per_row=3.2)


@pytest.fixture(scope="module")
def small():
    return SMALL.make()


def assert_same(left, right):
    for A, B in zip(left, right, strict=True):
        for piece in ("data", "indices", "indptr"):
            assert_array_equal(getattr(A, piece), getattr(B, piece))


def test_every_row_has_length_one_and_one_class(small):
    X, Y = small
    assert X.shape == (9000, 5000)
    assert Y.shape == (9000, 300)
    for matrix in small:
        assert matrix.dtype == np.float32
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
        assert matrix.has_canonical_format
    np.testing.assert_allclose(sparse.linalg.norm(X, axis=1), 1, rtol=1e-5)
    assert (X.data > 0).all()
    assert_array_equal(Y.data, 1)
    assert np.diff(X.indptr).min() >= 1
    assert_array_equal(np.diff(Y.indptr), 1)
    assert X.nnz / 9000 == pytest.approx(40, rel=0.02)


def test_labels_of_a_topic_have_the_expected_frequencies():
    _, Y = MULTILABEL.make()
    expected = MULTILABEL.topic_weights @ MULTILABEL.label_factor
    counts, found = np.diff(Y.indptr), Y.sum(axis=0) / 9000
    assert counts.mean() == pytest.approx(3.2, rel=0.02)
    assert counts.min() == 1
    deviation = np.sqrt(expected * (1 - expected) / 9000)
    z = (found - expected) / deviation
    assert np.abs(z).max() < 5
    assert z.std() == pytest.approx(1, abs=0.2)


def test_the_seed_and_not_the_number_of_threads_determines_the_rows(small):
    assert_same(small, SMALL.make(n_jobs=2))
    assert (variant(seed=1).make()[0] != small[0]).nnz > 0


@settings(max_examples=25)
@given(data=st.data(), n_features=st.integers(8, 60), n_rows=st.integers(1, 30))
def test_any_possible_sizes_can_be_made(data, n_features, n_rows):
    rank = data.draw(st.integers(1, n_features // 2))
    n_labels = data.draw(st.integers(rank, 3 * rank))
    recipe = PlantedLabels(
        n_rows=n_rows,
        n_features=n_features,
        n_labels=n_labels,
        rank=rank,
        nonzeros_per_row=data.draw(st.floats(1, n_features / 4)),
        labels_per_row=data.draw(st.floats(1, max(1, n_labels / rank / 2))),
        topic_share=data.draw(st.floats(0, 0.9)),
    )
    X, Y = recipe.make()
    assert X.shape == (n_rows, n_features)
    assert Y.shape == (n_rows, n_labels)
    for matrix in (X, Y):
        matrix.check_format(full_check=True)
        assert np.diff(matrix.indptr).min() >= 1
    assert recipe.topic_weights @ recipe.label_factor.sum(axis=1) == pytest.approx(recipe.labels_per_row)


@settings(max_examples=5)
@given(n_rows=st.integers(1, 8999))
def test_rows_do_not_depend_on_how_many_there_are(small, n_rows):
    assert_same(variant(n_rows=n_rows).make(), [matrix[:n_rows] for matrix in small])


def test_later_rows_can_be_made_alone(small):
    later = variant(first_row=4096, n_rows=9000 - 4096)
    assert_same(later.make(), [matrix[4096:] for matrix in small])


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"rank": 301}, "rank=301"),
        ({"nonzeros_per_row": 2000}, "nonzeros_per_row=2000"),
        ({"labels_per_row": 20}, "labels_per_row=20"),
        ({"first_row": 100}, "multiple of 4096"),
        ({"n_rows": 0}, "greater than or equal to 1"),
        ({"topic_share": 1}, "less than 1"),
        ({"ranks": 3}, "Extra inputs"),
    ],
)
def test_impossible_data_are_refused(changes, word):
    with pytest.raises(ValidationError, match=word):
        variant(**changes)


def test_the_reader_makes_the_rows_of_a_recipe(small, tmp_path):
    path = tmp_path / "recipe.json"
    path.write_text(SMALL.model_dump_json())
    rows = read_planted_labels(path)
    assert_same((rows.features, rows.labels), small)
    assert rows.labels.dtype == np.uint8


@pytest.mark.parametrize("text", ["", "{}", '{"n_rows": "many"}'])
def test_what_is_no_recipe_is_named(text, tmp_path):
    path = tmp_path / "recipe.json"
    path.write_text(text)
    with pytest.raises(MalformedData, match=r"recipe\.json"):
        read_planted_labels(path)


def test_the_recipe_of_a_dataset_has_its_shape():
    recipe, expect = recipe_of("synthetic_odp"), load_catalogue().entry("synthetic_odp").expect
    found = (recipe.n_rows, recipe.n_features, recipe.n_labels)
    assert found == (expect.rows["train"], expect.features, expect.classes)
    with pytest.raises(ValueError, match="synthetic_odp"):
        recipe_of("odp")


DATA = PlantedLabels(n_rows=6000, n_features=2000, n_labels=400, rank=10, nonzeros_per_row=40)
THREE_LABELS = DATA.model_copy(update={"labels_per_row": 3})


def planted(data, centred):
    """Return F, or F less its mean, with the weights of the topics, as a dense matrix."""
    F = data.label_factor.toarray()
    if centred:
        F = F - data.topic_weights @ F
    return np.sqrt(data.topic_weights)[:, None] * F


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("k", [4, 15])
def test_measures_agree_with_dense_linear_algebra(centred, k):
    F = planted(DATA, centred)
    V = np.random.default_rng(0).standard_normal((400, k)) + F[:k].T.sum(axis=1, keepdims=True)
    Q = linalg.orth(V)
    energy = (np.abs(F @ Q) ** 2).sum() / (F**2).sum()
    assert captured_energy(DATA, V, centred=centred) == pytest.approx(energy)
    exact = np.sort(linalg.subspace_angles(linalg.orth(F.T, rcond=1e-10), V))
    np.testing.assert_allclose(canonical_angles(DATA, V, centred=centred), exact, atol=1e-7)


@pytest.mark.parametrize("centred", [True, False])
def test_the_planted_space_contains_itself(centred):
    V = linalg.orth(planted(THREE_LABELS, centred).T, rcond=1e-10)
    assert V.shape[1] == 10 - centred
    assert captured_energy(THREE_LABELS, V, centred=centred) == pytest.approx(1)
    np.testing.assert_allclose(canonical_angles(THREE_LABELS, V, centred=centred), 0, atol=1e-6)


@pytest.mark.parametrize("data", [DATA, THREE_LABELS], ids=["multiclass", "multilabel"])
def test_rembrandt_recovers_it(data):
    X, Y = data.make()
    found = Rembrandt(15, ridge=10.0, solver="cg", random_state=0).fit(X, Y).embedding_
    assert captured_energy(data, found) > 0.9
    assert canonical_angles(data, found).max() < 0.5
    random = np.random.default_rng(0).standard_normal(found.shape)
    assert captured_energy(data, random) < 0.1
