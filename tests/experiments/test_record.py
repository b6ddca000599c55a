import json
import stat

import pytest

from eigenbench.experiments.record import Record, RecordError, read_record, write_json

BASE = {
    "run_key": "0123456789abcdef",
    "suite": "s",
    "experiment": "e",
    "dataset": "d",
    "method": "m",
    "classifier": "c",
    "seed": 0,
    "deterministic": False,
    "status": "ok",
}


def test_a_record_survives_the_round_trip(tmp_path):
    record = Record(**BASE, metrics={"test_error": 0.25}, curves={"loss": [(0, 1.0), (1, 0.5)]})
    write_json(tmp_path / "r.json", record.model_dump(mode="json"))
    assert read_record(tmp_path / "r.json") == record


@pytest.mark.parametrize("keep", [0, 1, 40, -2])
def test_a_record_cut_short_names_the_file_and_the_remedy(tmp_path, keep):
    path = tmp_path / "r.json"
    write_json(path, BASE)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(RecordError, match=r"r\.json.*delete it and run snakemake again"):
        read_record(path)


def test_an_unknown_field_is_refused(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(BASE | {"surprise": 1}))
    with pytest.raises(RecordError, match="surprise"):
        read_record(path)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "r.json"
    write_json(path, {"old": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"new": float("nan")})
    assert json.loads(path.read_text()) == {"old": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_written_files_are_readable_by_others(tmp_path):
    write_json(tmp_path / "r.json", {})
    assert stat.S_IMODE((tmp_path / "r.json").stat().st_mode) == 0o644
