"""Documents as scripts: their commands, and the files that they show with a caption."""

import os
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(console|\{code-block\}) ?\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)

#: The commands as they are written, of the Python that runs the tests.
COMMANDS = f"""set -euo pipefail
python() {{ '{sys.executable}' "$@"; }}
eigenbench() {{ '{sys.executable}' -m eigenbench.cli "$@"; }}
pytest() {{ '{sys.executable}' -m pytest -p no:cacheprovider "$@"; }}
"""


def script(text):
    """Return the text of a document as a script."""
    lines = [COMMANDS]
    for kind, block in BLOCK.findall(text):
        if kind == "console":
            lines += [line.removeprefix("$ ") for line in block.splitlines()]
        else:
            caption, _, content = block.partition("\n\n")
            lines.append(f"cat > {caption.removeprefix(':caption: ')} <<'END'\n{content}END")
    return "\n".join(lines)


#: No mirror, no index.
OFFLINE = {"EIGENBENCH_MIRROR": "", "PIP_NO_INDEX": "1"}


def shell(folder, text, settings=OFFLINE):
    """Run a script in a folder and return what it printed."""
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "PYTEST_"))}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = ["bash", "-c", text]
    done = subprocess.run(command, cwd=folder, env=quiet | settings, timeout=600, check=False, **streams)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout
