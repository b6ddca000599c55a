"""Names reach shell commands and paths: those of suites are refused unless plain, folders may be anything."""

import json

import pytest
import yaml

from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets.catalogue import load_catalogue

SUITE = {
    "name": "tiny",
    "title": "A test",
    "experiments": {
        "main": {
            "dataset": "digits",
            "methods": {"identity": {"steps": ["PCA"]}},
            "classifiers": {"least_squares": {"component": "CalibratedLeastSquares"}},
        }
    },
}
HOSTILE = [
    *("x; touch injected", "$(touch injected)", "`touch injected`", "{wildcards}", "a b", "a'b", 'a"b'),
    *("../x", "a/b", "/etc/x", "-rf", ".hidden", "a\nb", "a\n", "", "x" * 65),
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("place", ["tiny", "main", "digits", "identity", "least_squares", "PCA"])
def test_names_in_suites_are_plain(tmp_path, name, place):
    """Of the suite, an experiment, its dataset, a method, a classifier and a component."""
    renamed = json.loads(json.dumps(SUITE).replace(f'"{place}"', json.dumps(name)))
    assert renamed != SUITE
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(renamed))
    with pytest.raises(SuiteError, match=r"tiny\.yaml"):
        load_suite(path, sorted(load_catalogue().datasets))


@pytest.mark.slow
@pytest.mark.workflow
def test_folders_may_have_any_name(tmp_path, make_workflow):
    """Blanks, quotes, and what a shell would run, in the names of every folder that a run works in.

    MLflow can't make its tables in a folder whose name has both kinds of quotes: it puts the name, as Python
    prints it, into an SQL statement. So the folder of the store has one kind.
    """
    folder = tmp_path / "it's mine $(touch injected); `touch injected` & ä"
    suites = folder / "my suites"
    suites.mkdir(parents=True)
    (suites / "tiny.yaml").write_text(yaml.safe_dump(SUITE))
    names = {"results_dir": "re sults'", "reports_dir": "re'ports $(touch injected)", "data_dir": 'da"ta ;x'}
    content = names | {"suites": ["tiny"], "suites_dir": str(suites)}
    (folder / "config.yaml").write_text(yaml.safe_dump(content))
    workflow = make_workflow(folder, suites)
    workflow.arguments = lambda *arguments: [
        *type(workflow).arguments(workflow, *arguments)[:-3],
        *("--configfile", str(folder / "config.yaml")),
    ]
    workflow.finish()
    assert len(list((folder / names["results_dir"] / "tiny").glob("main/*/seed-0/*/record.json"))) == 1
    assert (folder / names["reports_dir"] / "index.html").exists()
    assert (folder / names["data_dir"] / "prepared" / "digits").is_dir()
    assert list(tmp_path.rglob("injected")) == []
