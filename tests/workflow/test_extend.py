"""The worked examples of docs/extend.md, to the letter, and what an edit of one's own code makes again."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.workflow

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "extend.md"
BLOCK = re.compile(r"^```(console|\{code-block\}) ?\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)

#: The commands as they are written, of the Python that runs the tests.
COMMANDS = f"""set -euo pipefail
eigenbench() {{ '{sys.executable}' -m eigenbench.cli "$@"; }}
pytest() {{ '{sys.executable}' -m pytest -p no:cacheprovider "$@"; }}
"""


def script():
    """Return the document as a script: its commands, and the files that it shows with a caption."""
    lines = [COMMANDS]
    for kind, text in BLOCK.findall(DOCUMENT.read_text(encoding="utf-8")):
        if kind == "console":
            lines += [line.removeprefix("$ ") for line in text.splitlines()]
        else:
            caption, _, content = text.partition("\n\n")
            lines.append(f"cat > {caption.removeprefix(':caption: ')} <<'END'\n{content}END")
    return "\n".join(lines)


def shell(folder, text):
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "PYTEST_"))}
    done = subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env=quiet | {"EIGENBENCH_MIRROR": "", "PIP_NO_INDEX": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A folder in which every command of the document was given, and what they printed."""
    folder = tmp_path_factory.mktemp("extend")
    return folder, shell(folder, script())


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
