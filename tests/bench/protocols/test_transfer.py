"""Transfer between tasks, on tasks small enough for plain formulas."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from eigenbench import HyperbolicPCA
from eigenbench.bench.protocols import transfer
from eigenbench.bench.protocols.base import Trial
from eigenbench.bench.protocols.transfer import measure
from eigenbench.bench.protocols.transfer_tasks import TransferSettings, choose_on_held_out_classes, draw_tasks
from eigenbench.bench.suites.suite_file import load_suite

SUITE = Path(__file__).parents[3] / "config" / "suites" / "hpca_transfer.yaml"
SIZES = {"source_classes": 4, "source_per_class": 6, "target_classes": 3, "target_per_class": 4}


def images(n_classes=9, per_class=8, height=4, width=5, noise=0.3, seed=0, first_code=0):
    """Classes are random pictures; a row's last pixel names it, so that rows can be recognised."""
    generator = np.random.default_rng(seed)
    X = np.repeat(generator.random((n_classes, height * width)), per_class, axis=0)
    X = (X + noise * generator.random(X.shape)).astype(np.float32)
    X[:, -1] = np.arange(len(X)) + 1
    return X, first_code + np.repeat(np.arange(n_classes), per_class)


def dataset(X_train, y_train, X_test, y_test):
    n_classes = int(max(y_train.max(), y_test.max())) + 1
    return SimpleNamespace(
        X_train=X_train,
        y_train=y_train,
        X_test=X_test,
        y_test=y_test,
        classes=[f"class {code}" for code in range(n_classes)],
    )


@pytest.fixture
def mixed():
    """Every class in both parts, as after a random split."""
    X, y = images()
    test = np.arange(len(X)) % 4 == 0
    return dataset(X[~test], y[~test], X[test], y[test])


def trial(data, *steps, seed=0, others=None, **settings):
    opened = {None: data, **(others or {})}
    return Trial(
        settings=TransferSettings(**{**SIZES, **settings}),
        build=lambda: make_pipeline(*(steps or ["passthrough"])),
        load=None,
        data=lambda name=None: opened[name],
        seed=seed,
    )


def rows_of(task, *datasets):
    """Find the rows of the datasets that a task holds, by direction: lengths are lost."""
    X = normalize(np.concatenate([np.concatenate([d.X_train, d.X_test]) for d in datasets]).astype(float))
    return [int(np.argmax(X @ row)) for row in task.raw]


def test_a_draw_has_the_sizes_asked_for_and_shares_no_class(mixed):
    source, target = draw_tasks(trial(mixed))
    assert np.bincount(source.y)[np.unique(source.y)].tolist() == [6] * 4
    assert np.bincount(target.y)[np.unique(target.y)].tolist() == [4] * 3
    assert not set(source.y) & set(target.y)
    assert np.linalg.norm(source.X, axis=1) == pytest.approx(1)
    assert len(set(rows_of(source, mixed)) | set(rows_of(target, mixed))) == 24 + 12


def test_the_seed_alone_decides_the_draw(mixed):
    draws = [draw_tasks(trial(mixed, seed=seed)) for seed in (0, 0, 1, 2, 3)]
    assert np.array_equal(draws[0][0].X, draws[1][0].X)
    assert np.array_equal(draws[0][1].X, draws[1][1].X)
    assert len({tuple(np.unique(source.y)) for source, _ in draws}) > 2


def test_images_of_a_class_keep_their_order(mixed):
    source, _ = draw_tasks(trial(mixed))
    rows = np.array(rows_of(source, mixed))
    for code in np.unique(source.y):
        assert np.all(np.diff(rows[source.y == code]) > 0)


def test_parts_can_be_the_two_pools():
    data = dataset(*images(n_classes=5), *images(n_classes=3, seed=1, first_code=5))
    for seed in range(3):
        source, target = draw_tasks(trial(data, by_part=True, seed=seed))
        assert max(source.y) < 5
        assert min(target.y) >= 5


def test_the_target_can_be_the_test_part_of_another_dataset(mixed):
    other = dataset(*images(n_classes=3, seed=1), *images(n_classes=3, seed=2))
    source, target = draw_tasks(trial(mixed, target="other", others={"other": other}, source_classes=9))
    assert set(source.y) == set(range(9))
    assert set(target.y) == {0, 1, 2}
    assert min(rows_of(target, other)) >= len(other.X_train)


def test_classes_can_be_left_out(mixed):
    names = tuple(f"class {code}" for code in range(5))
    source, _ = draw_tasks(trial(mixed, exclude=names))
    assert set(source.y) == {5, 6, 7, 8}


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"source_classes": 7}, "target task asks for 3 classes, and its pool has 2"),
        ({"source_classes": 10}, "source task asks for 10 classes, and its pool has 9"),
        ({"image": (4, 4)}, "4 x 4 pixels do not have 20 columns"),
        ({"exclude": ("clas 1",)}, "no class 'clas 1'"),
        ({"target_names": ("class 0", "class 1", "clas 2")}, "no class 'clas 2'"),
    ],
)
def test_what_the_data_cannot_give_is_an_error_that_says_so(mixed, settings, word):
    with pytest.raises(ValueError, match=word):
        draw_tasks(trial(mixed, **settings))


def test_target_classes_can_be_named(mixed):
    names = ("class 2", "class 0", "class 7")
    draws = [draw_tasks(trial(mixed, target_names=names, source_classes=6, seed=seed)) for seed in (0, 1)]
    for source, target in draws:
        assert set(target.y) == {0, 2, 7}
        assert set(source.y) == set(range(9)) - {0, 2, 7}


def test_inverted_images_are_the_largest_level_minus_each_pixel(mixed):
    (plain, _), (inverted, _) = (draw_tasks(trial(mixed, inverted=value)) for value in (False, True))
    pixels = np.concatenate([mixed.X_train, mixed.X_test])[rows_of(plain, mixed)].astype(float)
    expected = normalize(pixels.max() - pixels)
    np.testing.assert_allclose(inverted.X, expected)
    np.testing.assert_allclose(inverted.raw, expected)


def test_the_treatment_is_the_best_one_on_held_out_source_classes():
    generator = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 8)
    X = generator.random((9, 20))[y] + 0.8 * generator.random((72, 20))
    data = dataset(X, y, X, y)
    treatments = ({"inverted": False, "smoothing": 3.0}, {"inverted": True}, {"inverted": False})
    given = {"image": (4, 5), "treatments": treatments, "folds": 2}
    for order in (treatments, treatments[::-1]):
        outcome = measure(trial(data, **{**given, "treatments": order}))
        errors = [
            measure(trial(data, **{**given, "treatments": (one,)})).metrics["held_out_nn_error"]
            for one in order
        ]
        best = order[int(np.argmin(errors))]
        assert outcome.metrics["held_out_nn_error"] == min(errors) < max(errors)
        assert outcome.metrics["chosen_inverted"] == best["inverted"]
        assert outcome.metrics["chosen_smoothing"] == best.get("smoothing", 0)
        assert outcome.metrics["chosen_copies"] == 0


def test_settings_that_a_run_does_not_use_are_not_in_its_key():
    sizes = TransferSettings(**SIZES)
    assert not set(sizes.complete()) & set(TransferSettings.optional)
    assert TransferSettings(**SIZES, inverted=True).complete()["inverted"]
    assert TransferSettings.model_validate(sizes.complete()) == sizes


def test_sparse_rows_are_refused(mixed):
    mixed.X_train = sparse.csr_array(mixed.X_train)
    with pytest.raises(ValueError, match="dense images"):
        draw_tasks(trial(mixed))


def enumerated_error(X, y):
    """Try every choice of one example per class, on all other rows."""
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    errors = []
    for examples in itertools.product(*(np.flatnonzero(y == code) for code in np.unique(y))):
        others = np.setdiff1d(np.arange(len(y)), examples)
        nearest = np.array(examples)[squares[np.ix_(others, examples)].argmin(axis=1)]
        errors.append(np.mean(y[nearest] != y[others]))
    return np.mean(errors)


def test_the_metrics_are_those_of_plain_formulas(mixed):
    case = trial(mixed, PCA(2, svd_solver="full"))
    source, target = draw_tasks(case)
    outcome = measure(case)
    Z = PCA(2, svd_solver="full").fit(source.X).transform(target.X)
    assert outcome.metrics["nn_error"] == pytest.approx(enumerated_error(Z, target.y))
    assert outcome.metrics["raw_nn_error"] == pytest.approx(enumerated_error(target.X, target.y))
    ratio = outcome.metrics["nn_error"] / outcome.metrics["raw_nn_error"]
    assert outcome.metrics["nn_error_ratio"] == pytest.approx(ratio)
    first, second = np.triu_indices(len(Z), 1)
    equal = target.y[first] == target.y[second]
    distance = np.linalg.norm(Z[first] - Z[second], axis=1)

    def risk(c):
        return ((distance[equal] >= c).mean() + (distance[~equal] <= c).mean()) / 2

    assert outcome.metrics["balanced_risk"] == pytest.approx(min(risk(c + 1e-9) for c in distance))
    assert risk(outcome.metrics["threshold"]) == pytest.approx(outcome.metrics["balanced_risk"])
    quotient = outcome.metrics["threshold"] / outcome.metrics["relative_threshold"]
    assert quotient == pytest.approx(distance.max())
    assert outcome.dimension == 2


def test_no_steps_measure_the_pixels_and_smoothing_leaves_the_raw_error_as_it_is(mixed):
    plain = measure(trial(mixed, image=(4, 5))).metrics
    assert plain["nn_error"] == plain["raw_nn_error"]
    assert plain["nn_error_ratio"] == 1
    smooth = measure(trial(mixed, image=(4, 5), smoothing=1.0)).metrics
    assert smooth["raw_nn_error"] == plain["raw_nn_error"]
    assert smooth["nn_error"] != plain["nn_error"]


def test_copies_join_the_source_and_leave_the_target_as_it_is(mixed):
    plain_source, plain_target = draw_tasks(trial(mixed, image=(4, 5)))
    deformation = {"copies": 2, "shift": 0.5}
    source, target = draw_tasks(trial(mixed, image=(4, 5), smoothing=0.5, deformed_copies=deformation))
    n = len(plain_source.y)
    assert np.array_equal(source.raw, plain_source.raw)
    assert np.array_equal(target.raw, plain_target.raw)
    assert np.array_equal(source.y, np.tile(plain_source.y, 3))
    assert np.array_equal(source.origin, np.tile(np.arange(n), 3))
    assert np.flatnonzero(source.drawn).tolist() == list(range(n))
    assert target.drawn.all()
    assert np.linalg.norm(source.X, axis=1) == pytest.approx(1)
    assert (np.einsum("ij,ij->i", source.X[n : 2 * n], source.X[:n]) < 1 - 1e-9).all()
    same, _ = draw_tasks(trial(mixed, image=(4, 5), smoothing=0.5, deformed_copies={"copies": 1}))
    assert np.allclose(same.X, np.tile(source.X[:n], (2, 1)))


def test_hyperbolic_pca_reports_its_risk_and_bound(mixed):
    case = trial(mixed, HyperbolicPCA(3, kernel="half_rbf", gamma=2.0, eta_negative=0.1))
    source, _ = draw_tasks(case)
    metrics = measure(case).metrics
    model = HyperbolicPCA(3, kernel="half_rbf", gamma=2.0, eta_negative=0.1).fit(source.X, source.y)
    assert metrics["source_risk"] == pytest.approx(model.risk_)
    assert metrics["bound"] == pytest.approx(model.bound(0.05))
    assert metrics["eta_negative"] == 0.1


def test_only_the_first_seed_leaves_pictures_and_they_are_small(mixed):
    assert measure(trial(mixed, seed=1)).exhibits == []
    exhibits = measure(trial(mixed, HyperbolicPCA(3), image=(4, 5))).exhibits
    assert [exhibit.kind for exhibit in exhibits] == ["scatter", "histogram", "images"]
    scatter, histogram, pictures = exhibits
    assert len(scatter.x) == len(scatter.y) == len(scatter.labels) == 12
    assert set(scatter.labels) <= set(mixed.classes)
    widths = np.diff(histogram.edges)
    for density in histogram.densities.values():
        assert np.sum(density * widths) == pytest.approx(1, rel=0.02)
    assert len(pictures.rows["direction"][0]) == 20
    kernel = measure(trial(mixed, HyperbolicPCA(3, kernel="half_rbf", gamma=2.0), image=(4, 5)))
    assert [exhibit.kind for exhibit in kernel.exhibits] == ["scatter", "histogram"]


def test_directions_behind_principal_components_are_shown_in_pixels():
    X, y = images(height=80, width=60)
    data = dataset(X[::2], y[::2], X[1::2], y[1::2])
    case = trial(data, PCA(10, svd_solver="full"), HyperbolicPCA(3), image=(80, 60))
    pictures = measure(case).exhibits[-1]
    assert (pictures.height, pictures.width) == (26, 20)
    source, _ = draw_tasks(case)
    pca = PCA(10, svd_solver="full").fit(source.X)
    inner = HyperbolicPCA(3).fit(pca.transform(source.X), source.y)
    full = (inner.components_ @ pca.components_)[0].reshape(80, 60)[:78, :60]
    coarse = full.reshape(26, 3, 20, 3).mean(axis=(1, 3)).ravel()
    assert np.allclose(pictures.rows["direction"][0], coarse, atol=5e-3 * np.abs(coarse).max())


NO_NUMBERS = "pca__n_components: 'choose' needs a list of numbers"


class TestChoice:
    """Parameters chosen on source classes that were held out."""

    @staticmethod
    def task(n_classes=9, per_class=6):
        """Classes differ in the first pixel alone; the others are noise that drowns the difference."""
        generator = np.random.default_rng(3)
        y = np.repeat(np.arange(n_classes), per_class)
        X = 40 * generator.normal(size=(len(y), 6))
        X[:, 0] = 100 * y
        return X, y

    @pytest.mark.parametrize("other", [6, 7], ids=["worse", "cannot be fitted"])
    def test_the_dimension_that_transfers_is_taken(self, other):
        X, y = self.task()
        method = make_pipeline(PCA({"choose": [other, 1]}, svd_solver="full"))
        chosen, error = choose_on_held_out_classes(method, X, y, folds=3, seed=0)
        assert chosen == {"pca__n_components": 1}
        assert error < 0.01
        assert method[-1].n_components == 1

    def test_every_class_is_held_out_once_and_never_fitted_on_then(self):
        X, y = self.task()
        seen = []

        class Spy(PCA):
            def fit(self, X, y=None):
                seen.append(set(y))
                return super().fit(X, y)

            def transform(self, X):
                seen.append({round(value / 100) for value in X[:, 0]})
                return super().transform(X)

        choose_on_held_out_classes(make_pipeline(Spy({"choose": [2]})), X, y, folds=3, seed=0)
        fits, held_out = seen[::2], seen[1::2]
        assert sorted(code for part in held_out for code in part) == list(range(9))
        assert all(not fit & part and len(part) == 3 for fit, part in zip(fits, held_out, strict=True))

    def test_rows_that_do_not_count_are_fitted_on_and_not_measured(self):
        X, y = self.task()
        noise = X.copy()
        noise[:, 0] = 0
        both, labels = np.concatenate([X, noise]), np.tile(y, 2)
        measured = np.arange(len(labels)) < len(y)
        sizes = []

        class Spy(PCA):
            def fit(self, X, y=None):
                sizes.append(len(X))
                return super().fit(X, y)

        method = make_pipeline(Spy({"choose": [1]}))
        _, error = choose_on_held_out_classes(method, both, labels, folds=3, seed=0, measured=measured)
        assert sizes == [2 * len(y) * 2 // 3] * 3
        assert error < 0.01

    @pytest.fixture
    def choices(self, monkeypatch):
        """Arguments of the choice: rows, classes, and which rows are measured."""
        calls = []

        def spy(method, X, y, **kwargs):
            calls.append((X, y, kwargs["measured"]))
            return choose_on_held_out_classes(method, X, y, **kwargs)

        monkeypatch.setattr(transfer, "choose_on_held_out_classes", spy)
        return calls

    def test_copies_take_part_with_their_images(self, mixed, choices):
        extra = {"image": (4, 5), "deformed_copies": {"copies": 2}, "folds": 2, "choice_per_class": 3}
        measure(trial(mixed, PCA({"choose": [1, 2]}), **extra))
        ((X, y, measured),) = choices
        assert np.bincount(y)[np.unique(y)].tolist() == [9] * 4
        assert measured.tolist() == [True] * 12 + [False] * 24
        assert np.allclose(X, np.tile(X[:12], (3, 1)))

    def test_the_choice_sees_no_target_class_and_is_reported(self, mixed, choices):
        case = trial(mixed, PCA({"choose": [1, 2]}), folds=2, choice_per_class=3)
        metrics = measure(case).metrics
        source, target = draw_tasks(case)
        ((X, y, _),) = choices
        assert np.bincount(y)[np.unique(y)].tolist() == [3] * 4
        assert not set(y) & set(target.y)
        assert all(any(np.array_equal(row, other) for other in source.X) for row in X)
        assert metrics["chosen_pca__n_components"] in (1, 2)
        assert 0 <= metrics["held_out_nn_error"] <= 1

    def test_nothing_to_choose_costs_no_fit(self):
        X, y = self.task()
        method = make_pipeline(PCA(2))
        assert choose_on_held_out_classes(method, X, y, folds=3, seed=0) == ({}, None)

    @pytest.mark.parametrize(
        ("values", "n_classes", "said"),
        [
            *((values, 9, NO_NUMBERS) for values in ([], ["rbf"], 3, [True])),
            ([7, 8], 9, "n_components=8 must be between"),
            ([1], 5, "5 source classes cannot make 3 parts"),
        ],
    )
    def test_where_nothing_can_be_chosen_the_error_says_why(self, values, n_classes, said):
        X, y = self.task(n_classes)
        with pytest.raises(ValueError, match=said):
            choose_on_held_out_classes(make_pipeline(PCA({"choose": values})), X, y, folds=3, seed=0)


def test_the_suite_is_valid_and_repeats_the_published_sizes():
    suite = load_suite(SUITE)
    sizes = {
        name: TransferSettings(**experiment.settings)
        for name, experiment in suite.experiments.items()
        if experiment.protocol == "transfer"
    }
    published = {"handwritten": 500, "faces": 90, "rotated": 900, "scaled": 300, "rotated_scaled": 1800}
    found = {name: sizes[name].target_classes * sizes[name].target_per_class for name in published}
    assert found == published
    drawn = [spec for spec in suite.experiments.values() if not spec.settings.get("target_names")]
    assert all(len(experiment.seeds) == 5 for experiment in drawn)
