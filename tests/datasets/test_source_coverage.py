"""Who can get which dataset of the catalogue, and how."""

import re
from pathlib import Path

from eigenbench.datasets import load_catalogue
from eigenbench.datasets.source_kinds import (
    FolderSource,
    InstalledSource,
    MirrorSource,
    PackageSource,
    SdistSource,
    UrlSource,
)

INDEX = PackageSource | SdistSource | InstalledSource
WAYS = (("index", INDEX), ("publisher", UrlSource), ("mirror", MirrorSource | FolderSource))

START = (Path(__file__).parents[2] / "docs" / "start.md").read_text(encoding="utf-8")


def way(entry):
    """Return the easiest way by which every file of a dataset can be had."""
    easiest = [
        next(
            place for place, (_, kinds) in enumerate(WAYS) if any(isinstance(s, kinds) for s in file.sources)
        )
        for file in entry.files.values()
    ]
    return WAYS[max(easiest)][0]


def test_the_documents_name_what_a_package_index_does_not_give_and_how_it_can_be_had():
    found = {name: way(entry) for name, entry in load_catalogue().datasets.items()}
    for place, words in [
        ("publisher", r"A package index is enough(.*?)need other addresses of the internet"),
        ("mirror", r"need other addresses of the internet;(.*?)whose licence forbids"),
    ]:
        (sentence,) = re.findall(words, START, re.DOTALL)
        named = set(re.findall(r"`([a-z][a-z0-9_]*)`", sentence))
        assert named == {name for name in found if found[name] == place} - {"timit_development"}, place


def test_a_dataset_that_only_a_mirror_gives_says_why_and_what_to_do():
    own = [entry for entry in load_catalogue().datasets.values() if way(entry) == "mirror"]
    assert own
    for entry in own:
        assert entry.supplied, entry.title
        assert re.match("Get|Download|Accept", entry.supplied)


def test_addresses_of_repositories_name_a_commit():
    for entry in load_catalogue().datasets.values():
        for file in entry.files.values():
            for source in file.sources:
                if isinstance(source, UrlSource) and "raw.githubusercontent.com" in source.url:
                    commit = source.url.split("/")[5]
                    assert len(commit) == 40, source.url
                    assert int(commit, 16)
