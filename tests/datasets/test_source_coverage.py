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

HOW = {
    "index": """
        a9a a9a_2000   bibtex bibtex_2000 chess chess_2000 contraceptive corel5k covtype
        covtype_2000 digits emotions gisette_rebuilt ionosphere led7digit letter letter_2000 magic
        magic_2000 marketing marketing_2000 mediamill mnist mnist_2000 mnist_folds movement_libras
          optdigits optdigits_2000 orl_faces orl_faces_small page_blocks
        page_blocks_2000 pendigits pendigits_2000 phoneme phoneme_2000  printed_rotated
        printed_rotated_scaled printed_scaled ring ring_2000 satimage satimage_2000 scene segment
        sonar spambase spambase_2000   splice splice_2000
         synthetic_odp synthetic_small texture texture_2000 twonorm twonorm_2000
        vehicle vowel wdbc yeast
    """,
    "publisher": "aloi coil20 delicious emnist gisette letters rcv1 seq_fun seq_go timit_frames usps",
    "mirror": "lshtc odp timit timit_development wikilshtc_325k",
}
"""The least that is needed: a package index (with what is installed from it), the internet, or files of one's
own."""


def way(entry):
    """Return the easiest way by which every file of a dataset can be had."""
    easiest = [
        next(
            place for place, (_, kinds) in enumerate(WAYS) if any(isinstance(s, kinds) for s in file.sources)
        )
        for file in entry.files.values()
    ]
    return WAYS[max(easiest)][0]


def test_each_dataset_can_be_had_in_the_way_listed():
    found = {name: [] for name, _ in WAYS}
    for name, entry in load_catalogue().datasets.items():
        found[way(entry)].append(name)
    assert {name: sorted(datasets) for name, datasets in found.items()} == {
        name: sorted(datasets.split()) for name, datasets in HOW.items()
    }


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


def test_the_documents_name_what_a_package_index_does_not_give():
    page = (Path(__file__).parents[2] / "docs" / "start.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"A package index is enough.*?says what to put where", page, re.DOTALL)
    named = set(re.findall(r"`([a-z][a-z0-9_]*)`", sentence))
    assert named == {*HOW["publisher"].split(), *HOW["mirror"].split()} - {"timit_development"}
