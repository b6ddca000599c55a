"""Put the reports of a run's tasks together into its record."""

from __future__ import annotations

from typing import Any

from eigenbench.experiments.record import (
    Candidate,
    Confusion,
    DatasetInfo,
    Environment,
    Failure,
    ModelInfo,
    Record,
    Search,
)
from eigenbench.experiments.suite import StepSpec, step_names
from eigenbench.experiments.tasks import Cell, Task
from eigenbench.experiments.workspace import Workspace


def assemble_record(cell: Cell, workspace: Workspace) -> Record:
    """Return the record of one run from its finished tasks.

    Raises
    ------
    ArtifactError
        If a task of the run has not been finished.
    """
    final = workspace.read_meta(cell.final)
    dataset = workspace.dataset(cell.dataset)
    metas = [workspace.read_meta(task) for task in _all_tasks(cell.final)]
    environments = [meta["environment"] for meta in metas if "environment" in meta]
    base: dict[str, Any] = {
        "run_key": cell.run_key,
        "suite": cell.suite,
        "experiment": cell.experiment,
        "dataset": cell.dataset,
        "method": cell.method,
        "classifier": cell.classifier,
        "seed": cell.seed,
        "deterministic": cell.deterministic,
        "status": final["status"],
        "search": _search(cell, workspace),
        "dataset_info": _dataset_info(dataset) if dataset["card"] else None,
        "peak_rss_mb": max((meta.get("peak_rss_mb", 0.0) for meta in metas), default=None) or None,
        "environment": Environment(**environments[-1]) if environments else None,
        "started": min(meta["started"] for meta in metas),
        "finished": final["finished"],
    }
    if final["status"] != "ok":
        return Record(**base, failure=Failure(**final["failure"]))
    if cell.train is None or cell.embed is None:
        return Record(**base, **_measured(final))
    return Record(**base, **_evaluated(workspace, cell.embed, cell.train, base["search"], final))


def _measured(final: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a protocol gives."""
    steps = tuple(StepSpec.model_validate(step) for step in final["steps"])
    return {
        **{name: final[name] for name in ("metrics", "curves", "exhibits", "dimension", "predict_seconds")},
        "params": _flat_params(steps) | {"steps": " → ".join(step.component for step in steps)},
        "fit_seconds": final["seconds"],
    }


def _evaluated(
    workspace: Workspace, embed: Task, train: Task, search: Search | None, final: dict[str, Any]
) -> dict[str, Any]:
    """Return the fields that a trained and tested classifier gives."""
    embedded, trained = workspace.read_meta(embed), workspace.read_meta(train)
    metrics = {f"test_{name}": value for name, value in final["metrics"].items()}
    if search is not None and search.selected is not None:
        score = search.candidates[search.selected].score
        if score is not None:
            metrics[f"validation_{search.metric}"] = score
    steps = tuple(StepSpec.model_validate(step) for step in embedded["steps"])
    classifier = trained["classifier"]
    params = _flat_params(steps)
    params |= {f"classifier__{key}": value for key, value in classifier["params"].items()}
    thresholds = final.get("thresholds", {})
    params |= {
        f"threshold__{name}": value for name, value in thresholds.items() if not isinstance(value, list)
    }
    params["steps"] = " → ".join([*(step.component for step in steps), classifier["component"]])
    model_path = workspace.artifact(train) / "model.skops"
    return {
        "metrics": metrics,
        "curves": trained["curves"],
        "confusion": Confusion(**final["confusion"]) if "confusion" in final else None,
        "params": params,
        "dimension": embedded["dimension"],
        "fit_seconds": embedded["seconds"],
        "train_seconds": trained["seconds"],
        "predict_seconds": final["predict_seconds"],
        "model": ModelInfo(
            path=str(model_path.relative_to(workspace.root)),
            sha256=trained["files"]["model.skops"],
            bytes=model_path.stat().st_size,
            input_dtype=trained["input_dtype"],
            n_features=trained["n_features"],
        ),
    }


def _all_tasks(task: Task) -> list[Task]:
    found = {task.key: task}
    for need in task.needs:
        found.update((other.key, other) for other in _all_tasks(need))
    return list(found.values())


def _flat_params(steps: tuple[StepSpec, ...]) -> dict[str, Any]:
    return {
        f"{name}__{key}": value
        for name, step in zip(step_names(steps), steps, strict=True)
        for key, value in step.params.items()
    }


def _search(cell: Cell, workspace: Workspace) -> Search | None:
    if cell.select is None:
        return None
    meta = workspace.read_meta(cell.select)
    if meta["status"] != "ok":
        return None
    candidates = [Candidate(**candidate) for candidate in meta["candidates"]]
    return Search(metric=meta["metric"], candidates=candidates, selected=meta["selected"])


def _dataset_info(dataset: dict[str, Any]) -> DatasetInfo:
    card = dataset["card"]
    split = card["split"]
    if split["kind"] == "random":
        strata = "of each class" if split["stratify"] else "of the rows"
        text = f"{split['test_fraction']:.3g} {strata} for the test, drawn by the seed"
    else:
        text = "official"
    return DatasetInfo(
        sha256=dataset["sha256"],
        split=text,
        source="; ".join(dict.fromkeys(source["source"] for source in card["sources"])),
        **{name: card[name] for name in ("name", "n_train", "n_test", "n_features", "n_classes", "licence")},
    )
