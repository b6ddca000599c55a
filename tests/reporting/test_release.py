"""Every reference result of a release was made by the code of that release."""

from pathlib import Path

import pandas as pd
import pytest

import eigenbench
from eigenbench.bench.jobs.plan import load_plan
from eigenbench.bench.jobs.shared_jobs import current_code

pytestmark = pytest.mark.workflow

REPOSITORY = Path(__file__).resolve().parents[2]
REFERENCE = REPOSITORY / "reports" / "reference"
SUITES = REPOSITORY / "config" / "suites"


@pytest.mark.skipif(".dev" in eigenbench.__version__, reason="not a release")
@pytest.mark.parametrize("suite", sorted(SUITES.glob("*.yaml")), ids=lambda path: path.stem)
def test_reference_was_made_by_this_release(suite):
    folder = REFERENCE if suite.stem == "quick" else REFERENCE / suite.stem
    results = [pd.read_csv(path, dtype=str) for path in sorted(folder.glob("results*.csv"))]
    if results:
        codes = current_code(load_plan(suite))
        runs = pd.concat(results).drop_duplicates("run_key").reindex(columns=["run_key", "code_hash"])
        assert [key for key, code in runs.itertuples(index=False) if code not in codes.get(key, ())] == []
