"""Addresses of stores are shown without their secrets, wherever these stand."""

import pytest

from eigenbench.tracking.__main__ import main
from eigenbench.tracking.addresses import (
    TrackingError,
    artifact_location,
    resolve_uri,
    shown_uri,
    without_secrets,
)

pytestmark = pytest.mark.workflow

SECRET = "pa55wort"
ADDRESSES = [
    f"http://lab:{SECRET}@127.0.0.1:9",
    f"http://lab:a#{SECRET}@127.0.0.1:9/",
    f"http://lab:a/{SECRET}?x@127.0.0.1:9/",
    f"http://{SECRET}@127.0.0.1:9",
    f"http://127.0.0.1:9/?token={SECRET}",
    f"http://lab:[{SECRET}@127.0.0.1:9",
    f"http://[::1:{SECRET}@127.0.0.1:9",
    f"postgresql://lab:{SECRET}@127.0.0.1:9/mlflow",
    f"postgresql://lab:a@{SECRET}@127.0.0.1:9/mlflow",
    f"postgresql://lab:a%40{SECRET}@127.0.0.1:9/mlflow",
    f"postgresql://127.0.0.1:9/mlflow?password={SECRET}&user=lab",
    f"mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3D{SECRET}",
    f"postgresql://lab:{SECRET}@127.0.0.1:notaport/mlflow",
    f"https://127.0.0.1:9/#token={SECRET}",
]


@pytest.mark.parametrize("uri", ADDRESSES)
def test_no_secret_is_shown(uri):
    assert SECRET not in shown_uri(uri)
    assert SECRET not in without_secrets(f"cannot open {uri}, nor {SECRET}", uri)


@pytest.mark.parametrize(
    ("text", "uri", "shown"),
    [
        ("password=lab", "postgresql://lab:lab@host/mlflow", "password=***"),
        ("no access with lab", "https://lab@lab.org/", "no access with ***"),
        ("user db is refused", "postgresql://host/db?user=db", "user *** is refused"),
        ("!!#$ or %21%21%23%24", "postgresql://lab:%21%21%23%24@host/mlflow", "*** or ***"),
        ("host is not to be found", "postgresql://lab:to-be-or-not@host/mlflow", "host is not to be found"),
    ],
)
def test_a_secret_is_hidden_wherever_it_stands_and_short_words_stay(text, uri, shown):
    assert without_secrets(text, uri) == shown


def test_a_kind_of_database_that_does_not_exist_is_named(results):
    with pytest.raises(TrackingError, match=r"not the address of a database: .*foo"):
        results.bring([results.record()], "foo://bar/x")


@pytest.mark.parametrize("uri", ADDRESSES)
def test_an_import_that_fails_leaves_no_secret(uri, results, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    record = results.record(model=None, confusion=None)
    arguments = ["--results-dir", str(results.folder), "--receipt", str(tmp_path / "receipt.json")]
    assert main([*arguments, str(record)]) == 1
    text = "".join(capfd.readouterr())
    assert text.strip()
    assert SECRET not in text
    assert "Traceback" not in text
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("sqlite:///mlflow.db", "sqlite:///mlflow.db"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("http://[::1]:5000", "http://[::1]:5000"),
        ("sqlite:///runs#2.db", "sqlite:///runs#2.db"),
        ("postgresql://lab:pa55wort@host:5432/mlflow", "postgresql://lab:***@host:5432/mlflow"),
        ("postgresql://lab@/mlflow?host=/run/pg", "postgresql://***@/mlflow?host=***"),
    ],
)
def test_the_rest_of_an_address_is_shown(uri, shown):
    assert shown_uri(uri) == shown


@pytest.mark.parametrize("uri", ["file:///tmp/mlruns", "mlruns", "sqlite://", "http://[::1", "a:b@c"])
def test_addresses_that_are_none_are_refused(uri):
    with pytest.raises(TrackingError, match="sqlite:///"):
        resolve_uri(uri)


@pytest.mark.parametrize("suite", ["../../tmp", "a/b", "..", "", "a\\b"])
def test_files_of_a_suite_stay_in_their_folder(suite):
    with pytest.raises(TrackingError, match="is not the name of a suite"):
        artifact_location("sqlite:///mlflow.db", suite)
