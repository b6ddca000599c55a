"""Reading of the runs in an MLflow store."""

import sqlite3

from mlflow import MlflowClient


def runs_of(uri, kind="run", suite="tiny"):
    """Return the runs of one kind of a suite, sorted by their keys; none where there is no such suite."""
    client = MlflowClient(uri)
    found = client.get_experiment_by_name(suite)
    runs = client.search_runs([found.experiment_id], f"tags.kind = '{kind}'") if found else []
    return sorted(runs, key=lambda run: run.data.tags.get("run_key", ""))


def dump(uri):
    """Return the whole content of an SQLite store as SQL."""
    with sqlite3.connect(uri.removeprefix("sqlite:///")) as connection:
        return list(connection.iterdump())
