"""Weights of rows: those given to ``fit``, those of classes, and what nested estimators get of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from eigenbench.methods.parameter_constraints import StrOptions

#: What a parameter ``class_weight`` may be.
CLASS_WEIGHTS: list[Any] = [dict, StrOptions({"balanced"}), None]


def with_class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, weights: np.ndarray | None
) -> np.ndarray | None:
    """Return the weights of rows of classes ``codes``, each times its class's; None where neither is given.

    ``class_weight`` maps labels to weights, 1 for others; "balanced" gives all classes one sum.
    """
    if class_weight is None:
        return weights
    if isinstance(class_weight, str):
        totals = np.bincount(codes, weights, minlength=len(classes))
        of_class = totals.sum() / (len(classes) * totals)
    else:
        of_class = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    return of_class[codes] if weights is None else of_class[codes] * weights


def mean_one(weights: np.ndarray | None) -> np.ndarray | None:
    """Return weights divided by their mean."""
    return None if weights is None else weights / weights.mean()


def nested_fit_arguments(owner: Any, name: str, weights: np.ndarray | None) -> dict[str, Any]:
    """Return what the ``fit`` of the estimator ``owner.name`` gets of the weights of rows.

    With metadata routing enabled, what it has requested. Otherwise the weights, if its ``fit`` takes them;
    for a pipeline, each of its steps whose ``fit`` does. Raises `UnsetMetadataPassedError` if routing is
    enabled and the estimator takes weights, but has neither requested nor refused them.
    """
    if weights is None:
        return {}
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(owner, "fit", sample_weight=weights)[name].fit)
    return _fit_arguments(getattr(owner, name), weights)


def _fit_arguments(estimator: Any, weights: np.ndarray) -> dict[str, Any]:
    if isinstance(estimator, Pipeline):
        return {
            f"{step}__{key}": value
            for step, part in estimator.steps
            if part not in (None, "passthrough")
            for key, value in _fit_arguments(part, weights).items()
        }
    return {"sample_weight": weights} if has_fit_parameter(estimator, "sample_weight") else {}


def routing_to(owner: Any, name: str) -> MetadataRouter:
    """Return the routing of an estimator that takes weights and hands them to its parameter ``name``."""
    router = MetadataRouter(owner=type(owner).__name__).add_self_request(owner)
    nested = getattr(owner, name)
    if nested is not None:
        router.add(**{name: nested}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    return router
