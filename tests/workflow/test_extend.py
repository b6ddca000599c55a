"""The worked examples of docs/extend.md, to the letter, and what an edit of one's own code makes again."""

import json
import re

import pytest
from followed_documents import COMMANDS, DOCS, script, shell

from eigenbench.own_data.reference_ranking import read_reference

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

DOCUMENT = DOCS / "extend.md"
#: What comes before the section on `eigenbench join`, which needs data, that section, and what follows.
BEFORE, JOIN, AFTER = re.split(
    r"^(?=## Rank your method|## A dataset)", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE
)


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A folder in which every command of the document was given, and what they printed."""
    folder = tmp_path_factory.mktemp("extend")
    return folder, shell(folder, script(BEFORE + AFTER))


def test_every_command_of_the_document_works(followed):
    folder, _ = followed
    records = [
        json.loads(path.read_text()) for path in folder.glob("results/first/*/*/seed-*/**/record.json")
    ]
    assert len(records) == 9
    assert {record["status"] for record in records} == {"ok"}
    measured = [record["metrics"] for record in records if "between_share" in record["metrics"]]
    assert len(measured) == 1
    assert (folder / "datasets.yaml").read_text() in DOCUMENT.read_text(encoding="utf-8")


def planned(folder):
    told = shell(folder, f"{COMMANDS}eigenbench run --config suites_dir=. suites=[first] --dry-run")
    return {line for line in re.findall(r"^ *Job \d+: (.+)$", told, flags=re.MULTILINE) if " first/" in line}


def test_an_edit_of_own_code_plans_what_it_concerns(followed):
    folder, _ = followed
    method, protocol = folder / "shift.py", folder / "spread.py"
    kept = method.read_text(), protocol.read_text()
    method.write_text(f"# A comment.\n{kept[0]}")
    assert planned(folder) == set()
    protocol.write_text(kept[1].replace("between / Z", "2 * between / Z"))
    assert planned(folder) == {"measure first/spread: shift"}
    method.write_text(kept[0].replace("X - self.share", "X + 1 - self.share"))
    protocol.write_text(kept[1])
    assert planned(folder) == {"train first/garden: raw, shift", "measure first/spread: shift"}


@pytest.mark.data
def test_a_method_joins_the_reference(tmp_path):
    """A shift of scaled columns changes nothing: errors are those of the reference without an embedding."""
    told = shell(tmp_path, script(BEFORE + JOIN), settings={})
    result = json.loads((tmp_path / "reports" / "joined" / "Shift.json").read_text())
    assert f"place {result['place']} of {result['n_competitors']}" in told
    assert result["n_failed"] == 0
    assert (tmp_path / "reports" / "join_Shift" / "index.html").exists()
    datasets = [one["dataset"] for one in result["datasets"]]
    records = read_reference(datasets, 2).records
    raw = {
        (record.dataset, record.seed): record.metrics["test_error"]
        for record in records
        if (record.method, record.classifier) == ("raw", "LogisticRegression")
    }
    joined = {
        (one["dataset"], int(seed)): error
        for one in result["datasets"]
        for seed, error in one["errors"].items()
    }
    assert len(datasets) == 5
    assert joined == pytest.approx(raw, abs=0.02)
    assert sum(joined[run] == pytest.approx(raw[run]) for run in raw) > len(raw) / 2


def test_a_crate_of_it_runs_again_once_the_data_are_put_back(followed):
    folder, _ = followed
    shell(folder, f"{COMMANDS}eigenbench crate first --suites-dir . --licence CC-BY-4.0 --out crate")
    crate = folder / "crate"
    description = json.loads((crate / "ro-crate-metadata.json").read_bytes())["@graph"]
    assert any("put garden.csv, which stayed" in entity.get("description", "") for entity in description)
    packed = metrics(crate)
    assert packed == metrics(folder)
    for path in crate.glob("results/**/record.json"):
        path.unlink()
    (crate / "suites/garden.csv").write_bytes((folder / "garden.csv").read_bytes())
    shell(crate, f"{COMMANDS}eigenbench run suites/first.yaml")
    again = metrics(crate)
    assert again.keys() == packed.keys()
    for key, values in packed.items():
        assert again[key] == pytest.approx(values, rel=1e-5), "to rounding, as memory may lie differently"


def metrics(folder):
    """The metrics of all runs by their keys."""
    records = [json.loads(path.read_bytes()) for path in folder.glob("results/first/**/record.json")]
    assert len(records) == 9
    return {record["run_key"]: record["metrics"] for record in records}
