import inspect
import os
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from small_table import table_entry

from eigenbench.datasets import CatalogueError, load_catalogue
from eigenbench.datasets.formats import AnyFormat
from eigenbench.datasets.plain_yaml import write_yaml
from eigenbench.datasets.readers import READERS
from eigenbench.datasets.sources.local import InstalledSource
from eigenbench.datasets.sources.remote import PackageSource, SdistSource, UrlSource
from eigenbench.datasets.splits import draw_split

PRINTED = load_catalogue().entry("printed_scaled").format.model_dump(mode="json")


@pytest.fixture
def loaded(tmp_path):
    """Load a catalogue of the given entries."""

    def load(**entries):
        path = tmp_path / "c.yaml"
        path.write_text(write_yaml({"datasets": entries}))
        return load_catalogue(path)

    return load


@pytest.mark.parametrize(
    "split",
    [
        {"kind": "random", "test_fraction": 0.1},
        {"kind": "random", "test_fraction": 0.1, "max_train": 500, "max_test": 40},
        {"kind": "sampled", "max_train": 500, "max_test": 70},
        {"kind": "sampled", "max_train": 500, "max_test": 5000},
        {"kind": "folds", "n_folds": 7},
    ],
)
def test_the_number_of_test_rows_is_that_of_the_split_where_it_is_one(split):
    entry = load_catalogue().entry("usps" if split["kind"] == "sampled" else "digits")
    changed = type(entry).model_validate(entry.model_dump() | {"split": split})
    rows = entry.expect.rows
    targets = [np.zeros(rows[part]) for part in ("all", "train", "test") if part in rows]
    _, test = draw_split(changed.split, 0, *targets)
    assert changed.n_test in (len(test), None)
    assert (changed.n_test is None) == (split["kind"] == "folds")


def unsummed(source, supplied="Ask", **changes):
    """A file without a sum, which only one of a mirror that the user is told to supply may be."""
    return {"files": {"table.csv": {"sources": [source], **changes}}, "supplied": supplied}


def test_official_and_first_rows_are_counted_and_rows_only_known_about_are_not():
    datasets = load_catalogue().datasets
    first = next(entry for entry in datasets.values() if entry.split.kind == "first")
    assert first.n_test == first.expect.rows["all"] - first.split.n_train
    assert (datasets["mnist"].n_test, datasets["timit"].n_test) == (10_000, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"licens": "x"}, r"c\.yaml: datasets\.t\.licens: .*'licens'.*'licence'\?"),
        ({"expect": {"rows": {"trian": 3}, "features": 2, "classes": 3}}, r"expect\.rows\.trian.*'train'\?"),
        ({"parts": {"train": ["table.csv"]}}, "needs parts"),
        ({"parts": {"all": ["other.csv"]}}, "parts name"),
        ({"dtype": "uint8"}, "needs a scale"),
        ({"scale": 2.0}, "takes no scale"),
        ({"target": "multilabel"}, "can't be stratified"),
        ({"split": {"kind": "random", "test_fraction": 1.5}}, "less than 1"),
        ({"split": {"kind": "random", "test_fraction": 0.5, "max_train": 0}}, "greater than 0"),
        ({"split": {"kind": "sampled", "max_train": 2, "max_test": 2}}, "needs parts"),
        ({"format": PRINTED, "split": {"kind": "folds", "n_folds": 3}}, "needs an official or random split"),
        (
            {
                "format": {"reader": "table", "one_hot": True},
                "parts": {"train": ["table.csv"], "test": ["table.csv"]},
                "split": {"kind": "official"},
                "expect": {"rows": {"train": 3, "test": 3}, "features": 2, "classes": 3},
            },
            "one_hot .* needs the part all alone",
        ),
        ({"format": {"reader": "table", "delimiter": "§"}}, "'§' is no ASCII character"),
        (unsummed({"mirror": "a"}, supplied=None), "can go without sha256"),
        (unsummed({"url": "http://localhost/a"}), "can go without sha256"),
        (unsummed({"mirror": "a"}, bytes=3), "sha256 and bytes go together"),
    ],
)
def test_an_inconsistent_entry_is_refused(loaded, change, message):
    with pytest.raises(CatalogueError, match=message):
        loaded(t=table_entry({"mirror": "a.csv"}, **change))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"mirror": "../outside.csv"}, ""),
        ({"mirror": "/etc/passwd"}, ""),
        ({"mirror": "a", "decod": ["xz"]}, r"\..*unknown key 'decod'.*'decode'\?"),
        ({"url": "file:///etc/passwd"}, ""),
        ({"url": "http://localhost/a.zip", "member": "../a", "archive_bytes": 9}, ""),
        ({"url": "http://localhost/a.zip", "member": "a"}, ""),
        ({"package": "--index-url=x", "member": "a"}, ""),
        ({"package": "name", "member": "a"}, ""),
        ({"package": "name==1.0", "member": "../a"}, ""),
        ({"sdist": "--index-url=x", "member": "a", "archive_bytes": 9}, ""),
        ({"sdist": "name==1.0", "member": "../a", "archive_bytes": 9}, ""),
        ({"sdist": "name==1.0", "member": "a"}, ""),
        ({"sha256": "0" * 64}, ""),
    ],
)
def test_a_source_that_is_wrong_or_could_point_elsewhere_is_named(loaded, source, message):
    with pytest.raises(CatalogueError, match=rf"sources\.0{message}"):
        loaded(t=table_entry(source))


def nested(levels):
    """Mappings that are merged into each other, each with every one before it."""
    lines = ["a0: &a0 {k0: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], k{n}: 1}}" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("datasets: {t: {scale: " + "9" * 6000 + "}}", "line 1: .* is not a number"),
        (nested(8), "line [5-8]: more than 50000 values, with aliases written out"),
        ("datasets:\n  t: {title: a}\n  t: {title: b}", "line 3: the key 't' is given twice"),
        ("datasets: {t: {title: 2024-01-01}}", "is a date"),
        ("datasets: {7: {}}", "the key 7 is not a text"),
        ("# " + "x" * 2**20, "more than 1048576 bytes"),
        ("datasets: [", "line [12]: "),
        ("datasets: 3", "datasets: "),
        ("", "expected a mapping"),
    ],
)
def test_a_catalogue_is_guarded_as_a_suite_is(tmp_path, text, problem):
    path = tmp_path / "c.yaml"
    with pytest.raises(CatalogueError, match=r"c\.yaml: can't read"):
        load_catalogue(path)
    path.write_text(text)
    with pytest.raises(CatalogueError, match=problem) as caught:
        load_catalogue(path)
    assert "c.yaml" in str(caught.value)
    assert len(str(caught.value)) < 300


def test_an_edited_catalogue_is_read_again(loaded):
    entry = table_entry({"mirror": "a.csv"})
    assert set(loaded(one=entry).datasets) == {"one"}
    assert set(loaded(one=entry, another=entry).datasets) == {"one", "another"}


def test_catalogues_of_one_name_in_two_folders_are_two(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "c.yaml"
        path.write_text(write_yaml({"datasets": {name: table_entry({"mirror": "a.csv"})}}))
        os.utime(path, (1e9, 1e9))
        monkeypatch.chdir(tmp_path / name)
        assert set(load_catalogue("c.yaml").datasets) == {name}


def test_titles_of_a_catalogue_have_no_invisible_characters():
    entry = load_catalogue().entry("digits")
    told = type(entry).model_validate(entry.model_dump() | {"title": "a\x1b[2J", "licence": "\u202eb"})
    assert (told.title, told.licence) == (r"a\x1b[2J", r"\u202eb")


def test_a_sample_takes_all_but_title_and_split_from_another_dataset(loaded):
    both = {"of": "whole", "max_rows": {"train": 3, "test": 2}}
    catalogue = loaded(whole=table_entry({"mirror": "a.csv"}), few=both)
    few, entry = catalogue.entry("few"), catalogue.entry("whole")
    assert few.model_dump(exclude={"title", "split"}) == entry.model_dump(exclude={"title", "split"})
    assert few.title == f"{entry.title}; at most 3 training and 2 test rows, drawn by the seed"
    half = {"kind": "random", "test_fraction": 0.5, "stratify": True, "max_train": 3, "max_test": 2}
    assert few.split.model_dump() == half
    sampled = load_catalogue().entry("bibtex_2000").split
    assert sampled.model_dump() == {"kind": "sampled", "max_train": 2000, "max_test": 5000, "stratify": False}


@pytest.mark.parametrize(
    "entry",
    [{"of": "nothing", "max_rows": {"train": 3, "test": 2}}, {"of": "t"}, {"of": "few", "max_rows": 3}],
)
def test_a_sample_of_nothing_is_refused(loaded, entry):
    with pytest.raises(CatalogueError, match=r"c\.yaml: datasets"):
        loaded(few=entry)


def test_the_documents_name_what_a_package_index_does_not_give():
    index = (PackageSource, SdistSource, InstalledSource)
    others = {
        name
        for name, entry in load_catalogue().datasets.items()
        if not all(any(isinstance(s, index) for s in file.sources) for file in entry.files.values())
    }
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"A package index is enough.*?in a mirror", page, re.DOTALL)
    assert set(re.findall(r"`([a-z][a-z0-9_]*)`", sentence)) == others


def test_a_dataset_that_only_a_mirror_gives_says_what_to_do():
    own = [e for e in load_catalogue().datasets.values() if any(f.sha256 is None for f in e.files.values())]
    assert len(own) > 3
    for entry in own:
        assert re.match("Get|Download|Accept", entry.supplied or ""), entry.title


def test_addresses_of_repositories_name_a_commit():
    for entry in load_catalogue().datasets.values():
        for source in (source for file in entry.files.values() for source in file.sources):
            if isinstance(source, UrlSource) and "raw.githubusercontent.com" in source.url:
                assert re.fullmatch("[0-9a-f]{40}", source.url.split("/")[5]), source.url


def test_every_option_of_a_format_is_one_of_its_reader():
    formats = get_args(get_args(AnyFormat)[0])
    named = {name: form for form in formats for name in get_args(form.model_fields["reader"].annotation)}
    assert set(named) == set(READERS) | {"partitions"}
    for name, reader in READERS.items():
        wanted = inspect.signature(reader).parameters
        assert "options" in wanted or set(named[name].model_fields) - {"reader"} <= set(wanted), name
