"""Addresses of pages of the dashboard, by the parameters that its own address line shows."""

from __future__ import annotations

from urllib.parse import quote, urlencode

# The dashboard opens on language models unless the address says otherwise.
_TRAINING = "workflowType=machine_learning"


def table_url(base_url: str, experiment_id: str, search: str, order: str) -> str:
    """Return the page that lists those runs of an experiment that a search finds, in ascending order.

    Examples
    --------
    >>> table_url("http://127.0.0.1:5000", "1", "tags.kind = 'summary'", "metrics.`rank`").partition("?")[0]
    'http://127.0.0.1:5000/#/experiments/1/runs'
    """
    shown = {"searchFilter": search, "orderByKey": order, "orderByAsc": "true", "startTime": "ALL"}
    query = urlencode(shown, quote_via=quote)
    return f"{base_url.rstrip('/')}/#/experiments/{experiment_id}/runs?{query}&{_TRAINING}"


def run_link(experiment_id: str, run_id: str, page: str = "") -> str:
    """Return the address of a run below that of the dashboard, for links in its descriptions."""
    return f"#/experiments/{experiment_id}/runs/{run_id}{page}?{_TRAINING}"
