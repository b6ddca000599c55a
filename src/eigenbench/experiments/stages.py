"""What each kind of task does: from its specification and what it needs to files and a report."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from eigenbench.datasets import open_prepared
from eigenbench.experiments.cells import with_params
from eigenbench.experiments.metrics import score
from eigenbench.experiments.model_file import load_model, save_model
from eigenbench.experiments.parts import part_rows, shard_rows
from eigenbench.experiments.pipelines import build, build_pipeline, fit_features, transform
from eigenbench.experiments.suite import MULTILABEL_METRICS, Params, StepSpec
from eigenbench.experiments.tasks import Task
from eigenbench.experiments.workspace import Workspace
from eigenbench.metrics.multilabel import score_multilabel
from eigenbench.metrics.ranking import inverse_propensities
from eigenbench.moments import ClassMoments
from eigenbench.protocols.available import PROTOCOLS
from eigenbench.protocols.base import Trial
from eigenbench.registry import component

logger = logging.getLogger(__name__)


class StageRunner:
    """Runs tasks in one process.

    Parameters
    ----------
    workspace : Workspace
        Where artifacts are read and written.
    prepared : dict of str to Path
        The folders of the prepared datasets, by name.
    """

    def __init__(self, workspace: Workspace, prepared: dict[str, Path]):
        self.workspace = workspace
        self.prepared = prepared

    def run(self, task: Task) -> dict[str, Any]:
        """Execute one task and return what goes into its ``meta.json``; files lie beside it."""
        return getattr(self, f"_{task.stage}")(task)

    def _rows(self, task: Task) -> tuple[Any, Any]:
        part = task.spec["part"]
        self.dataset = open_prepared(self.prepared[part["dataset"]], split_seed=part.get("split_seed", 0))
        return part_rows(self.dataset, part)

    def _moments(self, task: Task) -> dict[str, Any]:
        started = time.perf_counter()
        if task.needs:
            moments = ClassMoments()
            for shard in task.needs:
                moments.merge(ClassMoments.load(self.workspace.artifact(shard) / "moments.npz"))
            earlier = sum(self.workspace.read_meta(shard)["seconds"] for shard in task.needs)
        else:
            X, y = self._rows(task)
            rows = shard_rows(len(y), task.spec.get("shard", 0), task.spec.get("of", 1))
            started, earlier = time.perf_counter(), 0.0
            moments = ClassMoments.of(X[rows], y[rows])
        seconds = earlier + time.perf_counter() - started
        folder = self.workspace.artifact(task)
        folder.mkdir(parents=True, exist_ok=True)
        moments.save(folder / "moments.npz")
        return {"files": ["moments.npz"], "seconds": seconds}

    def _embed(self, task: Task) -> dict[str, Any]:
        steps = tuple(StepSpec.model_validate(step) for step in task.spec["steps"])
        steps, _ = with_params(steps, _NO_CLASSIFIER, self._selected(task, classifier=False))
        sources = [need for need in task.needs if need.stage == "moments"]
        moments = ClassMoments.load(self.workspace.artifact(sources[0]) / "moments.npz") if sources else None
        moment_seconds = sum(self.workspace.read_meta(need)["seconds"] for need in sources)
        X, y = self._rows(task)
        started = time.perf_counter()
        features = fit_features(steps, X, y, seed=task.spec.get("seed"), moments=moments)
        seconds = time.perf_counter() - started
        dimension = X.shape[1] if features is None else features.transform(X[:1]).shape[1]
        files = []
        if features is not None:
            save_model(self.workspace.artifact(task) / "features.skops", features)
            files = ["features.skops"]
        logger.info("%d features in %.1f s", dimension, seconds)
        return {
            "files": files,
            "seconds": seconds + moment_seconds,
            "dimension": dimension,
            "steps": [step.model_dump() for step in steps],
        }

    def _train(self, task: Task) -> dict[str, Any]:
        (embed,) = (need for need in task.needs if need.stage == "embed")
        fitted = self.workspace.artifact(embed) / "features.skops"
        features = load_model(fitted) if fitted.exists() else None
        step = StepSpec.model_validate(task.spec["classifier"])
        _, step = with_params((), step, self._selected(task, classifier=True))
        classifier = build(step, task.spec.get("seed"))
        X, y = self._rows(task)
        started = time.perf_counter()
        if features is None:
            model = classifier.fit(X, y)
        elif component(step.component).streams:
            model = classifier.set_params(feature_map=FrozenEstimator(features)).fit(X, y)
        else:
            classifier.fit(transform(features, X), y)
            model = make_pipeline(FrozenEstimator(features), classifier)
        seconds = time.perf_counter() - started
        save_model(self.workspace.artifact(task) / "model.skops", model)
        return {
            "files": ["model.skops"],
            "seconds": seconds,
            "classifier": step.model_dump(),
            "curves": _curves(classifier),
            "input_dtype": str(X.dtype),
            "n_features": X.shape[1],
        }

    def _evaluate(self, task: Task) -> dict[str, Any]:
        (train,) = (need for need in task.needs if need.stage == "train")
        model = load_model(self.workspace.artifact(train) / "model.skops")
        X, y = self._rows(task)
        if "propensity" in task.spec:
            return self._evaluate_multilabel(task, model, X, y)
        scores = score(model, X, y, len(self.dataset.classes))
        logger.info(
            "%d errors in %d rows (%.2f %%)", scores.metrics["errors"], len(y), 100 * scores.metrics["error"]
        )
        meta = {"files": [], "metrics": scores.metrics, "predict_seconds": scores.predict_seconds}
        if scores.confusion is not None:
            meta["confusion"] = {"labels": list(self.dataset.classes), "matrix": scores.confusion.tolist()}
        return meta

    def _evaluate_multilabel(self, task: Task, model: Any, X: Any, Y: Any) -> dict[str, Any]:
        """Score with the thresholds of the selection; without one, on validation rows, choose them."""
        selections = [need for need in task.needs if need.stage == "select"]
        train_labels = self.dataset.y_train
        counts = np.bincount(train_labels.indices, minlength=Y.shape[1])
        scores = score_multilabel(
            model,
            X,
            Y,
            inverse_propensities=inverse_propensities(
                counts, train_labels.shape[0], **task.spec["propensity"]
            ),
            thresholds=self.workspace.read_meta(selections[0])["thresholds"] if selections else None,
        )
        logger.info("micro F1 %.4f of %d rows", scores.metrics["micro_f1"], X.shape[0])
        return {
            "files": [],
            "metrics": scores.metrics,
            "thresholds": scores.thresholds,
            "predict_seconds": scores.predict_seconds,
        }

    def _measure(self, task: Task) -> dict[str, Any]:
        protocol = PROTOCOLS[task.spec["protocol"]]
        seed = task.spec["seed"]
        steps = tuple(StepSpec.model_validate(step) for step in task.spec["steps"])
        trial = Trial(
            settings=protocol.settings().model_validate(task.spec["settings"]),
            build=lambda **last: build_pipeline(steps, seed, last),
            data=lambda name=task.spec["datasets"][0]: open_prepared(self.prepared[name], split_seed=seed),
            seed=seed,
        )
        outcome = protocol.measure(trial)
        return {
            "files": [],
            "metrics": outcome.metrics,
            "curves": outcome.curves,
            "exhibits": [exhibit.model_dump(mode="json") for exhibit in outcome.exhibits],
            "dimension": outcome.dimension,
            "seconds": outcome.fit_seconds,
            "predict_seconds": outcome.predict_seconds,
            "steps": task.spec["steps"],
        }

    def _select(self, task: Task) -> dict[str, Any]:
        return select_candidate(task, {need.key: self.workspace.read_meta(need) for need in task.needs})

    def _selected(self, task: Task, *, classifier: bool) -> Params:
        """Return the parameters that a search chose, those of the classifier or those of the steps."""
        for need in task.needs:
            if need.stage == "select":
                meta = self.workspace.read_meta(need)
                params = meta["candidates"][meta["selected"]]["params"]
                return {
                    key: value
                    for key, value in params.items()
                    if key.startswith("classifier__") == classifier
                }
        return {}


_NO_CLASSIFIER = StepSpec(component="LogisticRegression")


def select_candidate(task: Task, metas: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Choose the candidate with the best validation score; the first declared wins a tie.

    On multilabel data the thresholds that its evaluation found go with it.

    Raises
    ------
    ValueError
        If no candidate has a score.
    """
    metric = task.spec["metric"]
    candidates = []
    for candidate in task.spec["candidates"]:
        meta = metas[candidate["evaluate"]]
        value = meta.get("metrics", {}).get(metric)
        candidates.append({"params": candidate["params"], "status": meta["status"], "score": value})
    sign = -1 if MULTILABEL_METRICS.get(metric, False) else 1
    scored = [
        (sign * item["score"], index) for index, item in enumerate(candidates) if item["score"] is not None
    ]
    if not scored:
        raise ValueError(f"no candidate of the search has a validation {metric}; the log of each says why")
    selected = min(scored)[1]
    chosen = metas[task.spec["candidates"][selected]["evaluate"]]
    thresholds = {"thresholds": chosen["thresholds"]} if "thresholds" in chosen else {}
    return {"files": [], "metric": metric, "candidates": candidates, "selected": selected, **thresholds}


def _curves(classifier: Any) -> dict[str, list[tuple[int, float]]]:
    """Return the learning curves that a fitted classifier offers, as (step, value)."""
    curves = {}
    for name in ("loss_curve", "validation_curve"):
        values = np.asarray(getattr(classifier, f"{name}_", ()), dtype=float)
        if values.size:
            curves[name] = [(step, float(value)) for step, value in enumerate(values) if np.isfinite(value)]
    return curves
