"""The page of learning curves holds what the reference results show."""

import learning_curves as page
import numpy as np
import pandas as pd
import pytest
from curve_comparisons import ratio_of_errors, rows_needed, winners


@pytest.fixture(scope="module")
def errors():
    return page.curves("test_error")


def test_the_tables_of_the_page_are_those_of_the_reference():
    text = page.PAGE.read_text(encoding="utf-8")
    for name, block in page.blocks().items():
        assert f"<!-- from {name} -->\n{block}" in text, "run python docs/learning_curves.py"


def test_every_method_has_every_size_and_seed(errors):
    for methods in errors.values():
        assert len(methods) >= 14
        for curve in methods.values():
            assert curve.notna().sum().min() >= 3


def test_the_claims_of_the_first_paragraph(errors):
    """Who leads on printed characters, MNIST, Letter, MAGIC, ALOI, Elec, forest cover type and Adult."""
    relatives = ["gem", "gem_subclasses", "gem_neighborhoods"]
    printed = errors["printed_characters", "rows"]
    ratios = ratio_of_errors(printed["gem"], printed["random"])
    assert (ratios["high"].dropna() < 1).all()
    assert ratios["ratio"].round(2).tolist()[::3] == [0.89, 0.08]
    ends = ratios[["ratio", "low", "high"]].round(2)
    assert ends.loc[[320, 4000]].to_numpy().tolist() == [[0.89, 0.87, 0.91], [0.21, 0.18, 0.23]]
    assert ends.loc[16000, "low":].isna().all()
    for rival in printed.keys() - relatives:
        for name in relatives:
            assert ratio_of_errors(printed[name], printed[rival])["high"][4000] < 1, rival
    mnist, adult = errors["mnist", "rows"], errors["a9a", "rows"]
    ratios = ratio_of_errors(mnist["gem"], mnist["random"])
    assert (ratios["high"].dropna() < 1).all()
    assert ratios["ratio"].round(2).tolist()[::4] == [0.76, 0.36]
    ends = ratios[["ratio", "low", "high"]].round(2)
    assert ends.loc[[250, 16000]].to_numpy().tolist() == [[0.76, 0.74, 0.79], [0.43, 0.36, 0.51]]
    assert rows_needed(mnist["gem"], mnist["random"], 1000).rows == pytest.approx(5700, rel=0.02)
    for rival, worse in {"lightgbm": [4000], "random_forest": [4000], "svc": [4000, 16000]}.items():
        high = ratio_of_errors(mnist["gem"], mnist[rival])["high"].loc[4000:]
        assert high.index[high < 1].tolist() == worse, rival
    assert (ratio_of_errors(adult["gem"], adult["random"])["high"].dropna() >= 1).all()
    for name, error in {"random": 0.149, "nystroem": 0.148}.items():
        assert adult[name].mean()[32000] == pytest.approx(error, abs=5e-4)
    letter, magic = errors["letter", "rows"], errors["magic", "rows"]
    assert (ratio_of_errors(letter["gem"], letter["random"])["high"].dropna() < 1).all()
    assert rows_needed(letter["gem"], letter["random"], 4000).rows == pytest.approx(8000, rel=0.02)
    best = winners(letter)["best"]
    assert (best == "svc").tolist() == [False, False, True, True]
    assert (ratio_of_errors(magic["gem"], magic["random"])["high"].dropna() > 1).all()
    aloi = errors["aloi", "rows"]
    ratios = ratio_of_errors(aloi["gem"], aloi["random"])
    assert (ratios["high"] < 1).all()
    assert ratios["ratio"].round(2).tolist()[::3] == [0.94, 0.89]
    elec = errors["elec", "rows"]
    assert (winners(elec)["best"] == "raw").tolist() == [False, True, True, True, True]
    raw = elec["raw"].mean()
    assert abs(raw[32000] - raw[1000]) < 0.001
    covtype = errors["covtype", "rows"]
    assert (winners(covtype)["best"] == "random_forest").all()
    means = pd.Series({name: curve.mean()[60000] for name, curve in covtype.items() if 60000 in curve})
    assert means["random_forest"] == pytest.approx(0.0955, abs=1e-4)
    assert means.drop(["random_forest", "lightgbm", "raw"]).min() == pytest.approx(0.2262, abs=1e-4)


def test_what_is_said_of_pixels_features_and_classes(errors):
    mnist, aloi = errors["mnist", "rows"], errors["aloi", "classes"]
    axes = ("rows", "rows, 14 × 14 pixels", "rows, 7 × 7 pixels")
    by_pixels = [
        ratio_of_errors(errors["mnist", axis]["gem"], errors["mnist", axis]["random"]) for axis in axes
    ]
    assert [round(found["ratio"][16000], 2) for found in by_pixels] == [0.43, 0.55, 0.75]
    few = ratio_of_errors(mnist["gem, 300 features"], mnist["random"])
    assert few.index[few["high"] < 1].tolist() == [4000, 16000]
    classes = ratio_of_errors(aloi["gem"], aloi["random"])
    assert ((classes["low"] < 1) & (classes["high"] > 1)).all()


def test_what_is_said_of_the_means_over_datasets(errors):
    means = page.over_datasets(errors)
    assert means.index[means["ratio_high"] < 1].tolist() == ["gem_and_fourier"]
    assert round(means.loc["gem", "ratio"], 2) == 0.87


def test_seeds_with_the_same_rows_have_no_interval(errors):
    line = winners(errors["mnist", "rows"]).loc[60000]
    assert line["ratio"] < 1
    assert np.isnan([line["low"], line["high"], line["p_advantage"], line["tied"]]).all()


def test_the_model_finds_what_made_the_errors():
    """GEM has half of the errors at 1,000 rows, and a fifth less of that for ten times the rows."""
    generator = np.random.default_rng(0)
    sizes = np.array([250, 1000, 4000, 16000])
    tens = np.log10(sizes / 1000)

    def curve(log_level, slope):
        noise = 0.02 * generator.standard_normal((5, 4))
        return pd.DataFrame(np.exp(log_level + slope * tens + noise), columns=sizes)

    errors = {
        (dataset, "rows"): {
            "random": curve(level, -0.5),
            "gem": curve(level + np.log(0.5), -0.5 + np.log(0.8)),
            "lightgbm": curve(level, 0.0),
        }
        for dataset, level in (("letter", -1.0), ("magic", -2.0), ("mnist", -2.5))
    }
    means = page.over_datasets(errors)
    assert means.index.tolist() == ["gem"]
    line = means.loc["gem"]
    assert line["ratio"] == pytest.approx(0.5, rel=0.03)
    assert line["factor"] == pytest.approx(0.8, rel=0.05)
    assert line["ratio_low"] < 0.5 < line["ratio_high"]
    assert line["datasets"] == 3


def test_the_best_within_some_seconds_is_that_of_the_sizes_that_are_quick_enough(monkeypatch):
    def at_two_sizes(**values):
        return {name: pd.DataFrame([line], columns=[250, 1000]) for name, line in values.items()}

    found = at_two_sizes(gem=[0.3, 0.1], raw=[0.2, 0.15])
    seconds = at_two_sizes(gem=[5.0, 50.0], raw=[2.0, 20.0])
    monkeypatch.setattr(page, "BUDGETS", (1, 10, 100))
    monkeypatch.setattr(page, "curves", lambda metric: {("letter", "rows"): seconds})
    line = page.seconds_table({("letter", "rows"): found}).splitlines()[2]
    assert line == "| Letter, rows | – | No embedding 20.0 | GEM 10.0 |"


def test_missing_methods_are_counted(errors):
    letter = dict(errors["letter", "rows"])
    del letter["svc"]
    assert "| 0 of 17 |" in page.winners_table({("letter", "rows"): errors["letter", "rows"]})
    assert "| 1 of 17 |" in page.winners_table({("letter", "rows"): letter})


def test_no_label_embedding_is_better_than_one_against_all():
    values = {}
    for record, _ in page._records_of(None):
        if record.dataset == "bibtex":
            values.setdefault(record.classifier, []).append(record.metrics["test_micro_f1"])
    best = max(np.mean(found) for name, found in values.items() if name != "one_against_all")
    assert len(values) == 7
    assert best <= np.mean(values["one_against_all"])


def test_only_hyperbolic_pca_makes_fewer_errors_on_new_classes_than_the_inputs_and_only_on_aloi():
    errors = {}
    for record, spec in page._records_of("transfer"):
        size = spec.settings["source_classes"], spec.settings["source_per_class"]
        errors.setdefault((record.dataset, size), {}).setdefault(record.method, []).append(
            record.metrics["nn_error"]
        )
    assert len(errors) == 14
    for of, by_method in errors.items():
        means = {name: np.mean(found) for name, found in by_method.items()}
        leads = of in (("aloi", (50, 20)), ("aloi", (50, 80)))
        assert min(means, key=means.get) == ("hpca_linear" if leads else "pixels")
