import re
import subprocess
import sys
from pathlib import Path

import pytest

import eigenbench

REPOSITORY = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize("name", eigenbench.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(eigenbench, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="GEMM"):
        _ = eigenbench.GEMM


LIST_SUITES = """
import sys
from eigenbench.cli import main
sys.argv = ["eigenbench", "list", "suites"]
try:
    main()
except SystemExit as ended:
    assert not ended.code
"""

LOAD_ALL_SUITES = """
from eigenbench.datasets.catalogue import default_catalogue_path
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.bench.protocols.available import PROTOCOLS
suites = [load_suite(path) for path in (default_catalogue_path().parent / "suites").glob("*.yaml")]
named = {experiment.protocol for suite in suites for experiment in suite.experiments.values()}
assert named == {None, *PROTOCOLS}
"""


@pytest.mark.parametrize("code", ["import eigenbench.tracking.ui", LIST_SUITES, LOAD_ALL_SUITES])
def test_what_every_command_does_imports_no_numerics(code):
    code += "\nimport sys; print([m for m in ('sklearn', 'scipy', 'mlflow', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_checking_parameters_imports_only_what_the_suite_names(tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text(
        "title: t\nexperiments:\n  main: {dataset: digits, methods: {m: {steps: [SignedPowers]}}, "
        "classifiers: [CalibratedLeastSquares]}\n"
    )
    code = (
        "import sys; from pathlib import Path; from eigenbench.bench.registry import COMPONENTS\n"
        "from eigenbench.bench.suites.component_checks import check_parameters\n"
        "from eigenbench.bench.suites.suite_file import load_suite\n"
        f"path = Path({str(path)!r}); check_parameters(load_suite(path), path)\n"
        "own = {item.module for item in COMPONENTS.values() if item.module.startswith('eigenbench')}\n"
        "print(sorted(own & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = ["classifiers.calibrated_least_squares", "embeddings.signed_powers"]
    assert done.stdout.strip() == str([f"eigenbench.methods.{name}" for name in modules])


#: What is private in MLflow: its modules below the public ones, its tables, and tags of its web page.
PRIVATE = re.compile(
    r"mlflow\.(store|utils|protos|server|tracking)\b|[Mm]lflow[\w.]*\._[a-z]|\b_(MLFLOW|tracking_client)"
    r"|sharedViewState|experimentKind|\b(FROM|JOIN|UPDATE|INTO) (experiments|runs|tags|experiment_tags)\b"
)


def test_only_what_mlflow_documents_is_used():
    assert PRIVATE.search("SELECT name FROM experiments")
    assert PRIVATE.search("from mlflow.store.db import utils")
    files = [*REPOSITORY.glob("src/**/*.py"), *REPOSITORY.glob("workflow/**/*"), REPOSITORY / "Snakefile"]
    found = [
        f"{path.relative_to(REPOSITORY)}: {line.strip()}"
        for path in files
        if path.is_file()
        for line in path.read_text(encoding="utf-8").splitlines()
        if PRIVATE.search(line)
    ]
    assert found == []
