"""The worked examples of docs/extend.md, to the letter, and what an edit of one's own code makes again."""

import json
import re

import pytest
from followed_documents import COMMANDS, DOCS, script, shell

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

DOCUMENT = DOCS / "extend.md"


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A folder in which every command of the document was given, and what they printed."""
    folder = tmp_path_factory.mktemp("extend")
    return folder, shell(folder, script(DOCUMENT))


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
