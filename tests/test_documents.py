"""The code in the README and in the tutorial runs as it stands."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.workflow

REPOSITORY = Path(__file__).resolve().parents[1]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", ["README.md", "docs/tutorial.md"])
def test_its_python_runs_in_an_empty_folder(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EIGENBENCH_DATA", str(tmp_path / "data"))
    blocks = PYTHON.findall((REPOSITORY / document).read_text(encoding="utf-8"))
    assert blocks
    exec(compile("\n".join(blocks), document, "exec"), {})
