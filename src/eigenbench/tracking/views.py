"""Saved views of the dashboard: the columns, filter and order that answer a question, behind a link."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

#: The dashboard opens on language models unless told otherwise.
WORKFLOW = "workflowType=machine_learning"

_TAG = "mlflow.sharedViewState."
_PUBLISHED = "published"
#: The view that a suite opens on.
METHODS = "methods"
_COLUMNS = (
    "tags.`metric`",
    "tags.`interval`",
    "tags.`tie_group`",
    "tags.`verdict`",
    "metrics.`rank`",
    "metrics.`mean`",
    "metrics.`published`",
    "metrics.`seeds`",
    "metrics.`train_s`",
    "metrics.`features`",
)


def view_tags(experiments: Iterable[str], published: bool) -> dict[str, str]:
    """Return the tags of an MLflow experiment that hold its saved views.

    One view has the methods of all experiments, the best of each first, one ranks those of each experiment;
    where there are published numbers, one shows what answers them.
    """
    summaries = "tags.kind = 'summary' AND"
    views = {METHODS: ("every method, best first", "tags.kind = 'summary'", "metrics.`rank`")}
    views |= {
        f"ranking-{name}": (f"ranking: {name}", f"{summaries} tags.experiment = '{name}'", "metrics.`rank`")
        for name in experiments
    }
    if published:
        views[_PUBLISHED] = ("published numbers", f"{summaries} tags.verdict LIKE '%'", "tags.`verdict`")
    return {f"{_TAG}{key}": _view(*view) for key, view in views.items()}


def saved_views(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the saved views among the tags of an MLflow experiment, title by key; that of papers first."""
    titles = {
        key.removeprefix(_TAG): str(json.loads(value)["name"])
        for key, value in tags.items()
        if key.startswith(_TAG)
    }
    return dict(sorted(titles.items(), key=lambda item: (item[0] != _PUBLISHED, item[0])))


def view_url(base_url: str, experiment_id: str, key: str | None = None) -> str:
    """Return the page that lists an experiment's runs, as a saved view shows them.

    Examples
    --------
    >>> from eigenbench.tracking.views import view_url
    >>> view_url("http://127.0.0.1:5000", "1", "ranking-digits").partition("#")[2]
    '/experiments/1/runs?viewStateShareKey=ranking-digits&workflowType=machine_learning'
    """
    view = f"viewStateShareKey={key}&" if key else ""
    return f"{base_url.rstrip('/')}/#/experiments/{experiment_id}/runs?{view}{WORKFLOW}"


def run_link(experiment_id: str, run_id: str, page: str = "") -> str:
    """Return the address of a run below that of the dashboard, for links in its descriptions."""
    return f"#/experiments/{experiment_id}/runs/{run_id}{page}?{WORKFLOW}"


def _view(name: str, search: str, order: str) -> str:
    state: dict[str, Any] = {
        "searchFilter": search,
        "orderByKey": order,
        "orderByAsc": True,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(_COLUMNS),
        "columnOrder": list(_COLUMNS),
        "groupBy": None,
    }
    packed = base64.b64encode(zlib.compress(json.dumps(state).encode())).decode()
    return json.dumps({"name": name, "createdAt": 0, "updatedAt": 0, "state": f"deflate;{packed}"})
